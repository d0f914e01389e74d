"""The texts of a tool's raw output, and the lines that report an error."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from remora.errors import RemoraError

_MAX_BYTES = 4 * 1024 * 1024
"""Size from which an output is not searched."""
_MAX_TEXT = 1024 * 1024
"""Maximum characters of an output that are searched."""
_MAX_ERRORS = 5
_MAX_LINE = 300
_REPORTS = re.compile(
    r"(?i:(?:[\w./-]+:\d+(?::\d+)?: )?(?:fatal |internal )?(?:error|fatal|panic)(?:\[\w+\])?: *\S)"
    r"|(?:\w+\.)*[A-Z]\w*(?:Error|Exception): *\S"
    r"|(?:FAILED|ERROR) \S"
)
"""Matches lines in which compilers, Python and pytest report an error."""
_ERROR_KEYS = frozenset({"error", "errors", "stderr", "exception", "failure"})
"""Keys of an output whose texts are errors."""


class OutputTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of an output, and the first lines of it that report an error."""

    text: str = ""
    errors: tuple[str, ...] = ()


def read_output(raw: msgspec.Raw, resolve: Callable[[Any], Any] | None = None) -> OutputTexts:
    """Return the texts of an output. `resolve` adds the texts that the stream keeps elsewhere."""
    recorded = bytes(raw)
    if len(recorded) > _MAX_BYTES:
        return OutputTexts()
    value = msgspec.json.decode(recorded)
    if resolve is not None and b'blob"' in recorded:
        with suppress(RemoraError):  # without them, their first and last lines are searched
            value = resolve(value)
    parts: list[str] = []
    errors: list[str] = []
    size = 0
    for text, is_error in _leaves(value):
        size += len(text)
        if size > _MAX_TEXT:
            break
        parts.append(text)
        if len(errors) < _MAX_ERRORS:
            errors += _errors(text, is_error=is_error)
    return OutputTexts(text="\n".join(parts), errors=tuple(dict.fromkeys(errors))[:_MAX_ERRORS])


def plain_text(value: Any) -> str:
    """Return a recorded text. Of a text that is stored elsewhere, return its first lines."""
    match value:
        case None:
            return ""
        case str():
            return value
        case {"$blob": {"first": list(first)}}:
            return "\n".join(map(str, first))
    return str(value)


def _errors(text: str, *, is_error: bool) -> Iterator[str]:
    """Yield the lines of a text that report an error."""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and (is_error or _REPORTS.match(stripped)):
            yield stripped[:_MAX_LINE]


def _leaves(value: Any) -> Iterator[tuple[str, bool]]:
    """Yield each text in JSON data, and True if it is the value of a key for errors."""
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        item, is_error = stack.pop()
        match item:
            case dict():
                members = [(one, is_error or name in _ERROR_KEYS) for name, one in item.items()]
                stack.extend(reversed(members))
            case list():
                stack.extend((one, is_error) for one in reversed(item))
            case str():
                yield item, is_error
            case bool() | None:
                pass
            case int() | float():
                yield str(item), False
