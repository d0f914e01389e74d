"""The parts of a packet as texts, and names in error messages."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from remora.memory.canonical import json_text
from remora.memory.excerpts import code_lines
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
    for name in ("goal", "node_id", "node_summary", "state_summary", "last_error"):
        yield Place(name, str(getattr(packet, name) or ""))
    if packet.excerpt is not None:
        numbers = " ".join(str(number) for number, _ in code_lines(packet.excerpt))
        text = f"{packet.excerpt.path}\n{packet.excerpt.text}\nlines {numbers}"
        yield Place("excerpt", text)
    lists = {
        "diagnostics": map(_text, packet.diagnostics),
        "candidate_actions": (
            f"{_text(one.args)} {one.reason}" for one in packet.candidate_actions
        ),
        "recent_actions": (f"{_text(one.args)} {one.summary}" for one in packet.recent_actions),
    }
    for name, texts in lists.items():
        yield from (Place(f"{name}/{number}", text) for number, text in enumerate(texts))
    facts = {key: fact.value for key, fact in packet.knowledge.items()}
    values = {
        "knowledge": facts,
        "hub_context": packet.hub_context,
        "extensions": packet.extensions,
    }
    for name, each in values.items():
        yield from (Place(f"{name}/{key}", f"{key} {_text(value)}") for key, value in each.items())


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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
