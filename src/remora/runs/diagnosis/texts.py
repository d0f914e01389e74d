"""Texts that are compared: the parts of a packet, errors in raw outputs, and names in messages."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from remora.memory.canonical import json_text
from remora.memory.packet import DecisionPacket

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
_MAX_MESSAGE = 4_000
"""Characters of an error message in which names are looked for."""
_NAME = re.compile(
    r"\b[^\W\d][\w.]*_\w+|\b\w+(?:[./-]\w+)+|[A-Z]{1,4}\d{2,}|\b\w*[a-z]\d\w*|line \d+"
)
"""Identifiers, paths, rule codes and line numbers in an error message."""
_QUOTED = re.compile(r"'([^'\n]{3,120})'|\"([^\"\n]{3,120})\"|`([^`\n]{3,120})`")


class Place(msgspec.Struct, frozen=True):
    """A part of a packet, such as `knowledge/files`."""

    name: str
    text: str


def packet_places(packet: DecisionPacket) -> Iterator[Place]:
    """Yield the parts of a packet as texts."""
    for name, value in msgspec.to_builtins(packet).items():
        parts = value if isinstance(value, dict) else {}
        if isinstance(value, list | tuple):
            parts = dict(enumerate(value))
        elif isinstance(value, str):
            yield Place(name, value)
        for key, part in parts.items():
            text = part if isinstance(part, str) else json_text(part)
            yield Place(f"{name}/{key}", f"{key} {text}" if isinstance(value, dict) else text)


def text_of(packet: DecisionPacket) -> str:
    """Return all parts of a packet as one text."""
    return "\n".join(place.text for place in packet_places(packet))


def dropped_parts(packet: DecisionPacket, shown: DecisionPacket) -> list[Place]:
    """Return what the budget removed from a packet: the lines that the shown one does not have."""
    left = text_of(shown)
    parts = packet_places(packet) if packet != shown else ()
    dropped = []
    for place in parts:
        lines = [line for line in place.text.split("\n") if line and line not in left]
        dropped += [Place(place.name, "\n".join(lines))] if lines else []
    return dropped


def occurs(name: str, text: str) -> bool:
    """Return True if a text contains a name as a whole word. White space is folded."""
    folded, line = " ".join(name.split()), " ".join(text.split())
    pattern = rf"(?<!\w){re.escape(folded)}(?!\w)"
    return bool(folded) and folded in line and re.search(pattern, line) is not None


def find_names(text: str) -> list[str]:
    """Return the identifiers, paths, line numbers and quoted texts in an error message."""
    text = text[:_MAX_MESSAGE]
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    return list(dict.fromkeys([*quoted, *_NAME.findall(text)]))


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
            members = [(member, is_error or name in _ERROR_KEYS) for name, member in item.items()]
            stack.extend(reversed(members))
        elif isinstance(item, list):
            stack.extend((member, is_error) for member in reversed(item))
        elif isinstance(item, str):
            yield item, is_error
