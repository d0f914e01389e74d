"""The version of ruff that a project uses, and the files that name ruff."""

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from remora.tools.file_tree import FileTree

Version = tuple[int, int, int]
_LIMIT = 8 * 1024 * 1024
_NUMBER = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_HOOK = re.compile(
    r"\brepo:\s*\S*/ruff(?:-pre-commit)?\b(?:(?!\brepo:).)*?\brev:\s*"
    r"['\"]?(?:\w+['\"]?\s*#\s*frozen:\s*)?v?(\d+\.[\d.]*)",
    re.DOTALL,
)
_LOCKED = re.compile(r"name = \"ruff\"\s+version = \"(\d[\d.]*)\"")
_REQUIRED = re.compile(r"(?<![\w./-])ruff['\"]?\s*(?:===?|~=|=\s*['\"][\^~]?)\s*v?(\d[\d.]*)")
_NAME = re.compile(r"(?<![\w./-])ruff(?![\w/-]|: *noqa)")
_NAMES = ("pyproject.toml", "tox.ini", "setup.cfg", "setup.py", "noxfile.py", "Pipfile")
_PATTERNS = (
    "*requirements*.txt", "requirements/*.txt", ".github/workflows/*.y*ml", ".pre-commit-config.yaml",
    "Makefile", "justfile",
)  # fmt: skip
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")


def version_of(text: str) -> Version:
    """Return the first version number in a text, or (0, 0, 0)."""
    found = _NUMBER.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


class RuffUse(NamedTuple):
    """Use of ruff in a project."""

    version: Version | None
    """The oldest version that the project pins, or None if it pins none."""
    is_named: bool
    """True if its settings, requirements or commands name ruff."""
    is_chosen: bool
    """True if not only lock files pin a version."""


def ruff_use(place: "FileTree") -> RuffUse:
    """Return how a project uses ruff.

    It is read from pre-commit's configuration, lock files, requirements, tox.ini and the workflows
    of GitHub. Of `ruff>=0.3`, no version is known.
    """
    paths = [*_NAMES]
    for pattern in _PATTERNS:
        paths += place.files.glob(pattern, look=place.left)
    texts = [place.text_or_empty(path) for path in paths]
    is_named = any(_NAME.search(text) for text in texts)
    chosen = _HOOK.findall(place.text_or_empty(".pre-commit-config.yaml"))
    chosen += [pin for text in texts for pin in _REQUIRED.findall(text)]
    locks = (place.text_or_empty(name, _LIMIT) for name in _LOCKS)
    locked = [number for lock in locks for number in _LOCKED.findall(lock)]
    oldest = min(map(version_of, (*chosen, *locked)), default=None)
    return RuffUse(oldest, is_named, bool(chosen))
