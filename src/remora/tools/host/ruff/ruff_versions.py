"""The version of ruff that a project uses."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from remora.tools.tree import ToolTree

Version = tuple[int, int, int]
_LIMIT = 8 * 1024 * 1024
_NUMBER = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_HOOK = re.compile(
    r"ruff-pre-commit\b(?:(?!\brepo:).)*?\brev:\s*"
    r"['\"]?(?:\w+['\"]?\s*#\s*frozen:\s*)?v?(\d+\.[\d.]*)",
    re.DOTALL,
)
_LOCKED = re.compile(r"name = \"ruff\"\s+version = \"(\d[\d.]*)\"")
_REQUIRED = re.compile(r"(?<![\w./-])ruff['\"]?\s*(===?|~=|>=|=\s*['\"][\^~]?)\s*v?(\d[\d.]*)")
_REQUIRED_VERSION = re.compile(r"required-version\s*=\s*['\"]\s*(==|~=|>=|)\s*(\d[\d.]*)")
_NAMES = ("pyproject.toml", "tox.ini", "setup.cfg", "setup.py", "noxfile.py", "Pipfile")
_PATTERNS = ("*requirements*.txt", "requirements/*.txt", ".github/workflows/*.y*ml")
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")


class RuffVersion(NamedTuple):
    """A version of ruff. `is_exact` is False if newer versions may be used, too."""

    number: Version
    is_exact: bool

    def __str__(self) -> str:
        shown = ".".join(map(str, self.number))
        return shown if self.is_exact else f"{shown} or newer"


def version_of(text: str) -> Version:
    """Return the first version number in a text, or (0, 0, 0)."""
    found = _NUMBER.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


def ruff_version(place: ToolTree) -> RuffVersion | None:
    """Return the oldest version of ruff that a project runs, or None if it names none.

    It is read from pre-commit's configuration, lock files, requirements, tox.ini and the
    workflows of GitHub. Lower limits count only if there is no exact version.
    """
    found = list(_versions(place))
    exact = [each for each in found if each.is_exact]
    return min(exact or found, default=None)


def _versions(place: ToolTree) -> Iterator[RuffVersion]:
    hooks = _HOOK.findall(place.text_or_empty(".pre-commit-config.yaml"))
    locked = [
        each for name in _LOCKS for each in _LOCKED.findall(place.text_or_empty(name, _LIMIT))
    ]
    yield from (RuffVersion(version_of(each), is_exact=True) for each in [*hooks, *locked])
    for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
        for operator, number in _REQUIRED_VERSION.findall(place.text_or_empty(name)):
            yield RuffVersion(version_of(number), is_exact=operator != ">=")
    paths = [*_NAMES]
    for pattern in _PATTERNS:
        paths += place.files.glob(pattern, look=place.left)
    for path in paths:
        for operator, number in _REQUIRED.findall(place.text_or_empty(path)):
            yield RuffVersion(version_of(number), is_exact=not operator.startswith(">"))
