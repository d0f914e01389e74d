"""The type checker that a project's configuration, CI and requirements name, with its version."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from remora.errors import HostError
from remora.tools.host.mypy_settings import mypy_settings, tool_settings
from remora.tools.tree import ToolTree

Name = Literal["zuban", "mypy", "pyright", "ty"]
SETTINGS_FILES = ("pyproject.toml", "mypy.ini", ".mypy.ini", "setup.cfg", "pyrightconfig.json")
_ALSO_NAMED_IN = (
    "tox.ini",
    ".pre-commit-config.yaml",
    "noxfile.py",
    "Makefile",
    "justfile",
    "requirements*.txt",
    "*requirements.txt",
    "requirements/*.txt",
    ".github/workflows/*.yml",
    ".github/workflows/*.yaml",
    ".gitlab-ci.yml",
)
_NAMES: tuple[Name, ...] = ("zuban", "mypy", "pyright", "ty")
_COMMENT = re.compile(r"(?m)^\s*[#;].*$|\s#\s.*$")
_COMMANDS = {
    "zuban": r"zuban",
    "mypy": r"(?:mirrors-|pytest-)?mypy",
    "pyright": r"(?:based)?pyright",
    "ty": r"ty(?= +check)",
}
_PIN = r"(?:[<>=~!]=?|@)\s*v?(\d[\w.]*)"
_REVISION = r"/mirrors-mypy['\"]?\s+rev:\s*['\"]?v?(\d[\w.]*)"
_FLAG = re.compile(
    r"(?<=\s)--(?:strict|check-untyped-defs|ignore-missing-imports|disallow-[\w-]+|warn-[\w-]+)\b"
)


class DeclaredChecker(NamedTuple):
    """The name of a type checker, its required version, and its options on command lines."""

    name: Name
    pin: str = ""
    options: tuple[str, ...] = ()


def declared_checker(place: ToolTree) -> DeclaredChecker | None:
    """Return the type checker that a project uses, or None if it names none.

    The result is never ty if another one is named, because ty judges in any case.
    """
    texts = {path: _COMMENT.sub("", text) for path, text in _texts(place)}
    configured = _configured(texts)
    for name in _NAMES:
        word = re.compile(rf"(?<![\w.-]){_COMMANDS[name]}(?![\w.])")
        named = [text for text in texts.values() if word.search(text)]
        if name in configured or named:
            joined = "\n".join(named)
            pin = re.search(rf"(?<![\w-])(?:based)?{name}\s*{_PIN}", joined)
            pin = pin or (re.search(_REVISION, joined) if name == "mypy" else None)
            lines = [line for line in joined.splitlines() if name == "mypy" and word.search(line)]
            options = dict.fromkeys(each for line in lines for each in _FLAG.findall(f" {line}"))
            return DeclaredChecker(name, pin.group(1) if pin else "", tuple(options))
    return None


def _texts(place: ToolTree) -> Iterator[tuple[str, str]]:
    for pattern in (*SETTINGS_FILES, *_ALSO_NAMED_IN):
        for path in place.files.glob(pattern):
            try:
                yield path, place.read(path).decode("utf-8", "replace")
            except HostError:
                continue


def _configured(texts: Mapping[str, str]) -> set[str]:
    """Return the checkers that have settings."""
    files = {path: text.encode() for path, text in texts.items()}
    found = set(tool_settings(files)) & set(_NAMES)
    if "pyrightconfig.json" in files or "basedpyright" in tool_settings(files):
        found.add("pyright")
    if mypy_settings(files) is not None:
        found.add("mypy")
    return found
