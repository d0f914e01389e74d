"""Line length and docstring convention in a project's configuration."""

import configparser
import contextlib
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from remora.errors import HostError
from remora.tools.tree import ToolTree

_DEFAULT_WIDTH = 88
_LEAST, _MOST = 60, 160
_HOOKS = ".pre-commit-config.yaml"
_BLACK_HOOK = re.compile(r"\bid:\s*black\b(?:(?!\b(?:id|repo):).)*", re.DOTALL)
_HOOK_WIDTH = re.compile(r"(?:--line-length|-l)[=\s,'\"-]+(\d+)")
_PRESERVE = re.compile(r"--skip-string-normalization|-S\b")
_CONVENTIONS = ("google", "numpy")


def convention_of(place: ToolTree, path: str) -> str | None:
    """Return the docstring convention that is configured for ruff's pydocstyle rules.

    Returns None if no supported convention is configured.
    """
    for _, ruff in _settings(place, path):
        lint = _table(ruff, "lint")
        named = {**_table(ruff, "pydocstyle"), **_table(lint, "pydocstyle")}.get("convention")
        if named in _CONVENTIONS:
            return str(named)
    return None


def width_of(place: ToolTree, path: str, *, prose: bool = False) -> int:
    """Return the configured maximum line length, or 88. See `configured_width`."""
    return configured_width(place, path, prose=prose) or _DEFAULT_WIDTH


def configured_width(place: ToolTree, path: str, *, prose: bool = False) -> int | None:
    """Return the maximum line length configured for ruff or Black, or None.

    If neither is configured, it is the length that pre-commit passes to Black or that flake8 or
    pycodestyle reports. If the nearest configuration sets several limits, the smallest limit is
    used. Ruff's limit for docstrings is considered only if `prose` is True.
    """
    for black, ruff in _settings(place, path):
        style = {**_table(ruff, "pycodestyle"), **_table(_table(ruff, "lint"), "pycodestyle")}
        lengths = [ruff.get("line-length"), black.get("line-length")]
        lengths += [style.get("max-doc-length")] if prose else []
        widths = [width for width in lengths if isinstance(width, int)]
        if widths or black:
            return _bounded(min(widths, default=_DEFAULT_WIDTH))
    return _width_of_other_tools(place)


def black_options(place: ToolTree, path: str) -> list[str] | None:
    """Return the options with which `ruff format` formats like the configured Black.

    Options that pre-commit passes to Black count. Returns None if Black is not configured.
    """
    for black, _ in _settings(place, path):
        if black:
            width = black.get("line-length")
            options = ["--line-length", str(width)] if isinstance(width, int) else []
            preserve = black.get("skip-string-normalization") is True
            return options + ["--config", 'format.quote-style="preserve"'] * preserve
    hook = _BLACK_HOOK.search(_text(place, _HOOKS))
    if hook is None:
        return None
    named = _HOOK_WIDTH.search(hook[0])
    options = ["--line-length", named[1]] if named is not None else []
    preserve = _PRESERVE.search(hook[0]) is not None
    return options + ["--config", 'format.quote-style="preserve"'] * preserve


def _width_of_other_tools(place: ToolTree) -> int | None:
    """Return the line length that pre-commit passes to Black, or that flake8 reports, or None."""
    hook = _BLACK_HOOK.search(_text(place, _HOOKS))
    named = _HOOK_WIDTH.search(hook[0]) if hook is not None else None
    widths = [int(named[1])] if named is not None else []
    for name in (".flake8", "setup.cfg", "tox.ini", ".pycodestyle"):
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        with contextlib.suppress(configparser.Error):
            parser.read_string(_text(place, name))
        for section in ("flake8", "pycodestyle"):
            length = parser.get(section, "max-line-length", fallback="").strip()
            widths += [int(length)] if length.isdecimal() else []
    return _bounded(min(widths)) if widths else None


def _bounded(width: int) -> int:
    return min(max(width, _LEAST), _MOST)


def _text(place: ToolTree, path: str) -> str:
    try:
        return place.read(path).decode("utf-8", "replace") if place.files.exists(path) else ""
    except HostError:
        return ""


def _settings(place: ToolTree, path: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the settings of Black and ruff in each folder, starting with the nearest folder."""
    parts = path.split("/")[:-1]
    for count in range(len(parts), -1, -1):
        folder = "".join(f"{part}/" for part in parts[:count])
        for name in (".ruff.toml", "ruff.toml"):
            if place.files.exists(folder + name):
                yield {}, _read(place, folder + name)
        if place.files.exists(f"{folder}pyproject.toml"):
            tool = _table(_read(place, f"{folder}pyproject.toml"), "tool")
            yield _table(tool, "black"), _table(tool, "ruff")


def _table(holder: dict[str, Any], name: str) -> dict[str, Any]:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def _read(place: ToolTree, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(place.read(path).decode("utf-8-sig"))
    except (HostError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return {}  # ruff reports the error
