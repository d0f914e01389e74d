"""Tests that a project's pytest configuration names."""

import re
import tomllib
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import msgspec

SETTINGS_FILES = {
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "pyproject.toml": "",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}
"""Files in which pytest looks for its options, in this order, with their section."""
_IMPORT_MODE = re.compile(r"(?<!\S)--import-mode[= ](\S+)")


class PytestSettings(msgspec.Struct, frozen=True):
    """Settings of pytest about what is a test. The defaults are those of pytest."""

    folders: tuple[str, ...] = ()
    """Folders with tests (`testpaths`)."""
    patterns: tuple[str, ...] = ("test_*.py", "*_test.py")
    """Patterns of test files (`python_files`)."""
    imports_by_importlib: bool = False
    """True if `addopts` chooses the import mode `importlib`."""
    classes: tuple[str, ...] = ("Test",)
    """Prefixes or patterns of test classes (`python_classes`)."""
    functions: tuple[str, ...] = ("test",)
    """Prefixes or patterns of test functions (`python_functions`)."""

    @property
    def collects_usual_names(self) -> bool:
        """True if pytest collects files such as `test_cart.py`."""
        names = (pattern.rpartition("/")[2] for pattern in self.patterns)
        return any(fnmatchcase("test_cart.py", name) for name in names)

    def collects(self, path: str) -> bool:
        """Return True if the name or the path of a file is one that pytest collects."""
        return any(map(PurePosixPath(path).match, self.patterns))

    def names_class(self, name: str) -> bool:
        return _is_named(name, self.classes)

    def names_test(self, name: str) -> bool:
        return _is_named(name, self.functions)


def _is_named(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.startswith(pattern) or fnmatchcase(name, pattern) for pattern in patterns)


@lru_cache(maxsize=16)
def pytest_settings(texts: tuple[str, ...]) -> PytestSettings:
    """Return the settings of the first file that configures pytest.

    `texts` are those of SETTINGS_FILES in the root. The text of a missing file is empty.
    """
    for (name, section), text in zip(SETTINGS_FILES.items(), texts, strict=True):
        options = pytest_options(text, section)
        if options is not None or (name == "pytest.ini" and text):
            return _from_options(options or {})
    return PytestSettings()


def _from_options(options: Mapping[str, Any]) -> PytestSettings:
    default = PytestSettings()
    folders = (
        word.strip("/")
        for word in _words(options.get("testpaths"))
        if not any(mark in word for mark in "*?[:") and word.strip("./")
        if not word.endswith(".py")
    )
    modes = _IMPORT_MODE.findall(" ".join(_words(options.get("addopts"))))
    return PytestSettings(
        tuple(folders),
        tuple(_words(options.get("python_files"))) or default.patterns,
        modes[-1:] == ["importlib"],
        tuple(_words(options.get("python_classes", [*default.classes]))),
        tuple(_words(options.get("python_functions", [*default.functions]))),
    )


def pytest_options(text: str, section: str) -> Mapping[str, Any] | None:
    """Return pytest's options in a configuration file, or None if it has none.

    `section` is empty for a `pyproject.toml`.
    """
    if section:
        parser = parse_ini(text)
        return dict(parser[section]) if parser.has_section(section) else None
    try:
        tools = parse_toml(text).get("tool", {}).get("pytest", {})
        return tools.get("ini_options", tools) or None
    except AttributeError:  # not a table
        return None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the document of a TOML file, which is empty if it is not valid."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def parse_ini(text: str) -> ConfigParser:
    """Return the options of an INI file, up to its first error."""
    parser = ConfigParser(interpolation=None, strict=False)
    with suppress(ConfigParserError):
        parser.read_string(text)
    return parser


def _words(value: Any) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else str(value or "").split()
