"""The lines of a tool's raw output that report an error."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

_MAX_BYTES = 4 * 1024 * 1024
"""Size from which an output is not searched."""
_MAX_ERRORS, _MAX_LINE = 5, 300
_REPORTS = re.compile(
    r"(?i:(?:[\w./-]+:\d+(?::\d+)?: )?(?:fatal |internal )?(?:error|fatal|panic)(?:\[\w+\])?: *\S)"
    r"|(?:\w+\.)*[A-Z]\w*(?:Error|Exception): *\S"
    r"|(?:FAILED|ERROR) \S"
)
"""Matches lines in which compilers, Python and pytest report an error."""
_ERROR_KEYS = frozenset({"error", "errors", "stderr", "exception", "failure"})
"""Keys of an output whose texts are errors."""


def reported_errors(raw: msgspec.Raw) -> tuple[str, ...]:
    """Return the first lines of an output that report an error.

    Of the texts that the stream keeps elsewhere, the first and last lines are searched.
    """
    if len(bytes(raw)) > _MAX_BYTES:
        return ()
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:  # Remora does not record such data, but a stream may have it
        return ()
    lines = (
        line.strip()[:_MAX_LINE]
        for text, is_error in _leaves(value)
        for line in text.splitlines()
        if (is_error and line.strip()) or _REPORTS.match(line.strip())
    )
    return tuple(islice(dict.fromkeys(lines), _MAX_ERRORS))


def plain_text(value: Any) -> str:
    """Return a recorded text. Of a text that is stored elsewhere, return its first lines."""
    match value:
        case None:
            return ""
        case {"$blob": {"first": list(first)}}:
            return "\n".join(map(str, first))
    return str(value)


def _leaves(value: Any) -> Iterator[tuple[str, bool]]:
    """Yield each text in JSON data, and True if it is the value of a key for errors."""
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        item, is_error = stack.pop()
        if isinstance(item, dict):
            members = [(one, is_error or name in _ERROR_KEYS) for name, one in item.items()]
            stack.extend(reversed(members))
        elif isinstance(item, list):
            stack.extend((one, is_error) for one in reversed(item))
        elif isinstance(item, str):
            yield item, is_error
