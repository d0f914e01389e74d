"""Where a value occurs in a packet, and since which turn it is there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remora.chat import ToolSchema
from remora.memory.canonical import json_text
from remora.memory.packet import DecisionPacket
from remora.runs.diagnosis.agent_history import Call, Turn
from remora.text import clip

_DERIVED = ("candidate_actions", "recent_actions", "goal", "node_id", "node_summary")
"""Places that repeat or announce a value rather than being its source."""
_WRITTEN = 40
"""Characters from which a text with several words is taken as written, not as copied."""
_MAX_MESSAGE = 4_000
"""Characters of an error message in which names are looked for."""
_NAME = re.compile(
    r"\b[^\W\d][\w.]*_\w+|\b\w+(?:[./-]\w+)+|[A-Z]{1,4}\d{2,}|\b\w*[a-z]\d\w*|line \d+"
)
"""Identifiers, paths, rule codes and line numbers in an error message."""
_QUOTED = re.compile(r"'([^'\n]{3,120})'|\"([^\"\n]{3,120})\"|`([^`\n]{3,120})`")


class Place(msgspec.Struct, frozen=True):
    """A part of a packet, such as `knowledge/files`, and the turn in which it was set."""

    name: str
    turn: int
    text: str

    @property
    def is_source(self) -> bool:
        """True if the value may have been taken from here."""
        return not self.name.startswith(_DERIVED)


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a call, and where the packet that the model saw has its value.

    `written` is true for a text that the model was to write itself.
    """

    name: str
    value: str
    in_packet: bool
    places: tuple[Place, ...] = ()
    written: bool = False


def packet_places(packet: DecisionPacket, set_at: Mapping[str, int]) -> list[Place]:
    """Return the parts of a packet as texts. `set_at` has the turns in which parts were set."""
    return [*_texts(packet, set_at), *_actions(packet), *_facts(packet, set_at)]


def _texts(packet: DecisionPacket, set_at: Mapping[str, int]) -> Iterator[Place]:
    for name in ("goal", "node_id", "node_summary", "state_summary", "last_error"):
        yield Place(name, set_at.get(name, 0), str(getattr(packet, name) or ""))
    if packet.excerpt is not None:
        numbers = " ".join(map(str, range(packet.excerpt.lines[0], packet.excerpt.lines[1] + 1)))
        text = f"{packet.excerpt.path}\n{packet.excerpt.text}\nlines {numbers}"
        yield Place("excerpt", set_at.get("excerpt", 0), text)
    for number, item in enumerate(packet.diagnostics):
        yield Place(f"diagnostics/{number}", set_at.get("diagnostics", 0), _text(item))


def _actions(packet: DecisionPacket) -> Iterator[Place]:
    for number, one in enumerate(packet.candidate_actions):
        yield Place(f"candidate_actions/{number}", packet.turn, f"{_text(one.args)} {one.reason}")
    for number, action in enumerate(packet.recent_actions):
        text = f"{_text(action.args)} {action.summary}"
        yield Place(f"recent_actions/{number}", action.turn, text)


def _facts(packet: DecisionPacket, set_at: Mapping[str, int]) -> Iterator[Place]:
    for key, fact in packet.knowledge.items():
        yield Place(f"knowledge/{key}", fact.source_turn, f"{key} {_text(fact.value)}")
    for key, value in packet.hub_context.items():
        yield Place(f"hub_context/{key}", set_at.get("hub_context", 0), f"{key} {_text(value)}")
    for key, value in packet.extensions.items():
        yield Place(f"extensions/{key}", 0, f"{key} {_text(value)}")


def arguments_of(call: Call, turn: Turn, shown: DecisionPacket) -> tuple[Argument, ...]:
    """Return the arguments of a call, with the places of their values in the packet."""
    places = packet_places(shown, turn.set_at)
    chosen = call.choice is not None and call.choice < len(turn.offered)
    known = turn.offered[call.choice or 0].args if chosen else {}
    if chosen and shown.candidate_actions != turn.offered:  # the offered calls are tried answers
        asked = (one.args for one in shown.candidate_actions if one.tool == call.tool)
        known = next(asked, {})
    return tuple(
        _argument(name, value, places, is_open=chosen and name not in known)
        for name, value in call.args.items()
    )


def _argument(name: str, value: Any, places: Sequence[Place], *, is_open: bool) -> Argument:
    found = tuple(place for place in places if occurs(value, place.text))
    text = value if isinstance(value, str) else json_text(value)
    written = not found and (is_open or (len(text) > _WRITTEN and " " in text))
    return Argument(
        name=name, value=clip(text, 80), in_packet=bool(found), places=found, written=written
    )


def listed_in_schema(call: Call, name: str, tools: Sequence[ToolSchema]) -> bool:
    """Return True if the tool's schema lists the values of an argument, or it has no choice."""
    tool = next((one for one in tools if one.name == call.tool), None)
    schema = (tool.parameters.get("properties") or {}).get(name) if tool is not None else None
    value = call.args.get(name)
    listed = isinstance(schema, dict) and value in (schema.get("enum") or [schema.get("const")])
    return listed or value is None or isinstance(value, bool) or value in ("", [], {})


def occurs(value: Any, text: str) -> bool:
    """Return True if a text contains a value as a whole word. Of a list, each item must occur."""
    match value:
        case dict():
            return bool(value) and all(occurs(one, text) for one in value.values())
        case list():
            return bool(value) and all(occurs(one, text) for one in value)
    folded = " ".join(str(value).split())
    if not folded:
        return False
    found = " ".join(text.split())
    pattern = rf"(?<!\w){re.escape(folded)}(?!\w)"
    return folded in found and re.search(pattern, found) is not None


def names_in(text: str) -> list[str]:
    """Return the identifiers, paths, line numbers and quoted texts in an error message."""
    text = text[:_MAX_MESSAGE]
    quoted = [next(filter(None, found)) for found in _QUOTED.findall(text)]
    return list(dict.fromkeys([*quoted, *_NAME.findall(text)]))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
