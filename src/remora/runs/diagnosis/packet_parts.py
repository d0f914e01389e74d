"""The parts of a packet as texts, and those that the budget removed."""

from collections.abc import Iterator

import msgspec

from remora.memory.canonical import json_text
from remora.memory.packet import DecisionPacket


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
