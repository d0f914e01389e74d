"""Test files in a project's pytest configuration."""

import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any

import msgspec

from remora.tools.file_tree import FileTree

_SECTIONS = (
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", ""),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)
"""Files in which pytest looks for its options, in this order, with their section."""
_IMPORT_MODE = re.compile(r"(?<!\S)--import-mode[= ](\S+)")


class PytestSettings(msgspec.Struct, frozen=True):
    """Settings of pytest about test files."""

    folders: tuple[str, ...] = ()
    """Folders with tests (`testpaths`)."""
    patterns: tuple[str, ...] = ("test_*.py", "*_test.py")
    """Patterns of test files (`python_files`)."""
    imports_by_importlib: bool = False
    """True if `addopts` chooses the import mode `importlib`."""

    @property
    def collects_usual_names(self) -> bool:
        """True if pytest collects files such as `test_cart.py`."""
        names = (pattern.rpartition("/")[2] for pattern in self.patterns)
        return any(fnmatch("test_cart.py", name) for name in names)

    def collects(self, path: str) -> bool:
        """Return True if the name or the path of a file is one that pytest collects."""
        return any(map(PurePosixPath(path).match, self.patterns))


def pytest_settings(place: FileTree) -> PytestSettings:
    """Return the settings of the first file that configures pytest."""
    for path, section in _SECTIONS:
        options = _options(place, path, section)
        if options is not None or (path == "pytest.ini" and place.text_or_empty(path)):
            options = options or {}
            folders = tuple(
                word.strip("/")
                for word in _words(options.get("testpaths"))
                if not any(mark in word for mark in "*?[:") and word.strip("./")
                if not word.endswith(".py")
            )
            patterns = tuple(_words(options.get("python_files")))
            modes = _IMPORT_MODE.findall(" ".join(_words(options.get("addopts"))))
            return PytestSettings(
                folders, patterns or PytestSettings().patterns, modes[-1:] == ["importlib"]
            )
    return PytestSettings()


def configured_folders(place: FileTree) -> set[str]:
    """Return the folders that configure pytest, such as those of a monorepo."""
    return {
        path.rpartition("/")[0]
        for name, section in _SECTIONS
        for path in place.files.glob(f"**/{name}", look=place.left)
        if _options(place, path, section) is not None
    }


def _options(place: FileTree, path: str, section: str) -> Mapping[str, Any] | None:
    """Return pytest's options in a configuration file, or None if it has none."""
    if section:
        parser = place.ini(path)
        return dict(parser[section]) if parser.has_section(section) else None
    try:
        tools = place.toml(path).get("tool", {}).get("pytest", {})
        return tools.get("ini_options", tools) or None
    except AttributeError:  # not a table
        return None


def _words(value: Any) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else str(value or "").split()
