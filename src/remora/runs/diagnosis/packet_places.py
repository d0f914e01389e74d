"""The parts of a packet as texts, and names in error messages."""

import re
from collections.abc import Iterator

import msgspec

from remora.memory.canonical import json_text
from remora.memory.packet import DecisionPacket

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


def occurs(name: str, text: str) -> bool:
    """Return True if a text contains a name as a whole word. White space is folded."""
    folded, found = " ".join(name.split()), " ".join(text.split())
    pattern = rf"(?<!\w){re.escape(folded)}(?!\w)"
    return bool(folded) and folded in found and re.search(pattern, found) is not None


def names_in(text: str) -> list[str]:
    """Return the identifiers, paths, line numbers and quoted texts in an error message."""
    text = text[:_MAX_MESSAGE]
    quoted = [next(filter(None, found)) for found in _QUOTED.findall(text)]
    return list(dict.fromkeys([*quoted, *_NAME.findall(text)]))
