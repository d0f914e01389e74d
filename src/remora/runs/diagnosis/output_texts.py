"""The lines of a tool's raw output that report an error."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from remora.errors import RemoraError

_MAX_BYTES = 4 * 1024 * 1024
"""Size from which an output is not searched, without the texts that are stored as blobs."""
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


ReadBlob = Callable[[str], Iterable[bytes]]
"""Yields a text that a stream keeps elsewhere in pieces, by its hash. Raises RemoraError."""


def reported_errors(raw: msgspec.Raw, read_blob: ReadBlob | None = None) -> tuple[str, ...]:
    """Return the first lines of an output that report an error.

    Of the texts that the stream keeps elsewhere, the first and last lines are searched if
    `read_blob` is None or fails.
    """
    recorded = bytes(raw)
    if len(recorded) > _MAX_BYTES:
        return ()
    try:
        value = msgspec.json.decode(recorded)
    except RecursionError:  # Remora does not record such data, but an imported stream may have it
        return ()
    errors: dict[str, None] = {}
    room = _MAX_TEXT
    for text, is_error in _leaves(value, read_blob):
        for line in _errors(text[:room], is_error=is_error):
            errors[line] = None
            if len(errors) == _MAX_ERRORS:
                return tuple(errors)
        room -= len(text)
        if room <= 0:
            break
    return tuple(errors)


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


def _beginning(digest: str, read_blob: ReadBlob) -> str:
    """Return the first part of a text that is stored elsewhere, or an empty text if it is lost."""
    found = b""
    with suppress(RemoraError):
        for piece in read_blob(digest):
            found += piece
            if len(found) >= _MAX_TEXT:
                break
        return found.decode(errors="replace")
    return ""


def _leaves(value: Any, read_blob: ReadBlob | None) -> Iterator[tuple[str, bool]]:
    """Yield each text in JSON data, and True if it is the value of a key for errors."""
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        item, is_error = stack.pop()
        match item:
            case {"$blob": {"sha256": str(digest)}} if read_blob is not None and (
                text := _beginning(digest, read_blob)
            ):
                yield text, is_error
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
