"""The version of ruff that a project uses, and the files that name ruff."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.config_files import SETTINGS

Version = tuple[int, int, int]
_LIMIT = 8 * 1024 * 1024
_NUMBER = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_HOOK = re.compile(
    r"ruff-pre-commit\b(?:(?!\brepo:).)*?\brev:\s*"
    r"['\"]?(?:\w+['\"]?\s*#\s*frozen:\s*)?v?(\d+\.[\d.]*)",
    re.DOTALL,
)
_LOCKED = re.compile(r"name = \"ruff\"\s+version = \"(\d[\d.]*)\"")
_REQUIRED = re.compile(
    r"(?<![\w./-])ruff['\"]?\s*(===?|~=|=\s*['\"][\^~]?)\s*v?(\d[\d.]*)"
    r"|(?<![\w./-])ruff\b[^\n'\"]*?(<)=?\s*(\d[\d.]*)"
)
_NAME = re.compile(r"(?<![\w./-])ruff(?![\w/-]|: *noqa)")
_REQUIRED_VERSION = re.compile(r"required-version\s*=\s*['\"]\s*(?:==|~=|)\s*(\d[\d.]*)")
_NAMES = ("pyproject.toml", "tox.ini", "setup.cfg", "setup.py", "noxfile.py", "Pipfile")
_PATTERNS = (
    "*requirements*.txt", "requirements/*.txt", ".github/workflows/*.y*ml", ".pre-commit-config.yaml",
    "Makefile", "justfile",
)  # fmt: skip
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")


class RuffVersion(NamedTuple):
    """A version of ruff, or the first one that is too new."""

    number: Version
    is_limit: bool = False

    def has(self, since: Version) -> bool:
        """Return True if this version has what ruff has since another one."""
        return since < self.number or (since == self.number and not self.is_limit)

    def __str__(self) -> str:
        shown = ".".join(map(str, self.number))
        return f"older than {shown}" if self.is_limit else shown


def version_of(text: str) -> Version:
    """Return the first version number in a text, or (0, 0, 0)."""
    found = _NUMBER.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


class RuffUse(NamedTuple):
    """Use of ruff in a project.

    `version` is the oldest version that it pins, or None if it pins none. `is_named` is True if its
    settings, requirements or commands name ruff, and `is_chosen` if not only lock files pin it.
    """

    version: RuffVersion | None
    is_named: bool
    is_chosen: bool


def ruff_use(place: FileTree) -> RuffUse:
    """Return how a project uses ruff.

    It is read from pre-commit's configuration, ruff's own, lock files, requirements, tox.ini and
    the workflows of GitHub. Of `ruff>=0.3`, no version is known.
    """
    paths = [*_NAMES]
    for pattern in _PATTERNS:
        paths += place.files.glob(pattern, look=place.left)
    texts = [place.text_or_empty(path) for path in paths]
    is_named = any(_NAME.search(text) for text in texts)
    chosen = [*_versions(place, texts)]
    locked = [
        RuffVersion(version_of(number))
        for name in _LOCKS
        for number in _LOCKED.findall(place.text_or_empty(name, _LIMIT))
    ]
    return RuffUse(min((*chosen, *locked), default=None), is_named, bool(chosen))


def _versions(place: FileTree, texts: Sequence[str]) -> Iterator[RuffVersion]:
    pinned = _HOOK.findall(place.text_or_empty(".pre-commit-config.yaml"))
    for name in SETTINGS:
        pinned += _REQUIRED_VERSION.findall(place.text_or_empty(name))
    for text in texts:
        for _, pin, is_limit, limit in _REQUIRED.findall(text):
            if is_limit:
                yield RuffVersion(version_of(limit), is_limit=True)
            else:
                pinned.append(pin)
    yield from (RuffVersion(version_of(number)) for number in pinned)
