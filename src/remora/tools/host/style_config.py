"""Line length and docstring convention in a project's configuration."""

import functools
import io
import re
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml

from remora.code.edit.text_lines import split_lines
from remora.tools.file_tree import FileTree

_OPTION = re.compile(r"(?<![\w-])(?:--line-length|-l)[= \"',]*(\d+)")
DEFAULT_WIDTH = 88
_LEAST, _MOST = 60, 160
_HABITUAL = (79, 120)
_SAMPLE = 3
TEXT_TOKENS = (
    tokenize.STRING,
    tokenize.COMMENT,
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),
)
"""Kinds of the tokens of texts and comments. Python 3.12 splits f-strings."""
_HOOKS = ".pre-commit-config.yaml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # C is ten times as fast
_CONVENTIONS = ("google", "numpy")


def convention_of(place: FileTree, path: str) -> str | None:
    """Return the docstring convention that is configured for ruff's pydocstyle rules.

    Returns None if no supported convention is configured.
    """
    for _, ruff in _settings(place, path):
        lint = _table(ruff, "lint")
        named = {**_table(ruff, "pydocstyle"), **_table(lint, "pydocstyle")}.get("convention")
        if named in _CONVENTIONS:
            return str(named)
    return None


def width_of(place: FileTree, path: str) -> int:
    """Return the maximum line length of a file.

    If none is configured, it is the length that the file's lines reach, up to the default of ruff
    and Black.
    """
    configured = configured_width(place, path)
    return configured or min(habitual_width(place.text_or_empty(path)), DEFAULT_WIDTH)


def configured_width(place: FileTree, path: str) -> int | None:
    """Return the maximum line length that is configured for ruff or Black, or None.

    If the nearest configuration sets several limits, the smallest limit is used. If there is none,
    it is the length that pre-commit passes to Black, or the length that flake8 or pycodestyle
    reports.
    """
    width = formatter_width(place, path)
    if width is None and _black_arguments(place) is None:
        width = _flake8_width(place)
    return _within_limits(width)


def formatter_width(place: FileTree, path: str) -> int | None:
    """Return the line length of ruff or Black, by settings or pre-commit, or None."""
    width = _set_width(place, path)
    if width is not None:
        return width
    if any(black or ruff for black, ruff in _settings(place, path)):
        return DEFAULT_WIDTH
    words = _black_arguments(place)
    return None if words is None else _option_width(" ".join(words)) or DEFAULT_WIDTH


def wrapping_width(place: FileTree, path: str, text: str) -> int:
    """Return the length beyond which lines of a file are wrapped.

    Without a formatter, it is the length that its lines reach, up to the length that flake8 reports.
    """
    width = _within_limits(formatter_width(place, path))
    reported = configured_width(place, path) or _MOST
    return width or min(habitual_width(text), reported)


def _set_width(place: FileTree, path: str) -> int | None:
    """Return the line length in the nearest settings of ruff or Black that contain one, or None."""
    for black, ruff in _settings(place, path):
        lengths = (ruff.get("line-length"), black.get("line-length"))
        widths = [width for width in lengths if isinstance(width, int)]
        if widths:
            return min(widths)
    return None


def _within_limits(width: int | None) -> int | None:
    return None if width is None else min(max(width, _LEAST), _MOST)


@functools.lru_cache(maxsize=64)
def habitual_width(text: str) -> int:
    """Return the length that several lines of code in a file reach, from 79 to 120.

    Lines of longer texts and comments do not count, because formatters leave them as they are.
    """
    least, most = _HABITUAL
    skipped = set(_lines_of_long_texts(text, least))
    lines = enumerate(split_lines(text), 1)
    lengths = sorted((len(line) for number, line in lines if number not in skipped), reverse=True)
    usual = lengths[min(_SAMPLE, len(lengths)) - 1] if lengths else least
    return min(max(usual, least), most)


def _lines_of_long_texts(text: str, width: int) -> Iterator[int]:
    """Yield the lines of texts and comments that end beyond a width or have several lines."""
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            (first, _), (last, end) = token.start, token.end
            if token.type in TEXT_TOKENS and (last > first or end > width):
                yield from range(first, last + 1)


def black_options(place: FileTree, path: str) -> list[str] | None:
    """Return the options with which `ruff format` formats like the configured Black.

    Options that pre-commit passes to Black count. Returns None if Black is not configured.
    """
    for black, _ in _settings(place, path):
        if black:
            keeps_quotes = black.get("skip-string-normalization") is True
            return _format_options(black.get("line-length"), keeps_quotes=keeps_quotes)
    words = _black_arguments(place)
    if words is None:
        return None
    keeps_quotes = not {"-S", "--skip-string-normalization"}.isdisjoint(words)
    return _format_options(_option_width(" ".join(words)), keeps_quotes=keeps_quotes)


def _format_options(width: object, *, keeps_quotes: bool) -> list[str]:
    options = ["--line-length", str(width)] if isinstance(width, int) else []
    return options + ["--config", 'format.quote-style="preserve"'] * keeps_quotes


def _black_arguments(place: FileTree) -> list[str] | None:
    """Return the arguments that pre-commit passes to Black, or None if it does not run it."""
    try:
        document = yaml.load(place.text_or_empty(_HOOKS), _LOADER)  # noqa: S506 (a safe one)
    except yaml.YAMLError:
        return None
    repositories = document.get("repos") if isinstance(document, dict) else None
    for repository in repositories if isinstance(repositories, list) else ():
        hooks = repository.get("hooks") if isinstance(repository, dict) else None
        for hook in hooks if isinstance(hooks, list) else ():
            if isinstance(hook, dict) and hook.get("id") == "black":
                words = hook.get("args")
                return [str(word) for word in words] if isinstance(words, list) else []
    return None


def _flake8_width(place: FileTree) -> int | None:
    """Return the line length that flake8 or pycodestyle reports, or None."""
    for name in (".flake8", "setup.cfg", "tox.ini", ".pycodestyle"):
        for section in ("flake8", "pycodestyle"):
            length = place.ini(name).get(section, "max-line-length", fallback="").strip()
            if length.isdecimal():
                return int(length)
    return None


def _settings(place: FileTree, path: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the settings of Black and ruff in each folder, starting with the nearest folder."""
    parts = path.split("/")[:-1]
    for count in range(len(parts), -1, -1):
        folder = "".join(f"{part}/" for part in parts[:count])
        for name in (".ruff.toml", "ruff.toml"):
            yield {}, place.toml(folder + name)
        tool = _table(place.toml(f"{folder}pyproject.toml"), "tool")
        yield _table(tool, "black"), _table(tool, "ruff")


def _table(holder: dict[str, Any], name: str) -> dict[str, Any]:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def _option_width(arguments: str) -> int | None:
    """Return the line length in the arguments of Black, or None."""
    found = _OPTION.search(arguments)
    return None if found is None else int(found[1])
