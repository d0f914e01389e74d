"""Analysis of where the values of call arguments occurred in the packet."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from remora.memory.canonical import to_packet_value
from remora.memory.events import AgentError, Event, ToolCalled, ToolResulted
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import prompt_context
from remora.trace.read.reader import event_data

SMALL_INTEGER = 10
"""Smaller integers occur in any text by chance and are ignored."""
ValueOrigin = Literal["given", "memory", "candidates"]
_GIVEN = ("goal", "operation", "node_id", "node_type", "node_summary")
_MEMORY = (
    "state_summary",
    "excerpt",
    "diagnostics",
    "knowledge",
    "last_error",
    "hub_context",
    "extensions",
)
_APART = "\0"


def argument_values(arguments: Any) -> list[str]:
    """Return the strings and numbers in `arguments`, in order and including duplicates.

    Whitespace in strings is collapsed. Booleans, nulls, strings with fewer than two characters, and
    integers whose absolute value is less than `SMALL_INTEGER` are ignored, because they could be in
    any packet.
    """
    return [text for leaf in _leaves(arguments) if (text := _value(leaf))]


class VisibleText:
    """The text that was available for a decision."""

    def __init__(self, packet: DecisionPacket, history: Sequence[Event] | None = None) -> None:
        """Collect the text that the packet shows.

        If `history` is given, use the text that `history/1` shows instead of the packet's memory.
        """
        shown = prompt_context(packet)
        remembered = _history_values(history) if history is not None else _packet_values(shown)
        self._places: dict[ValueOrigin, str] = {
            "given": _joined(shown[key] for key in _GIVEN),
            "memory": _joined(remembered),
            "candidates": _joined(shown["candidate_actions"]),
        }

    def origin_of(self, value: str) -> ValueOrigin | None:
        """Return the first place where `value` occurs as a whole word or number, or None.

        The agent's initial values are searched first, then the memory, and finally the candidate
        actions.
        """
        pattern: re.Pattern[str] | None = None
        for place, text in self._places.items():
            if value in text:
                pattern = pattern or _whole(value)
                if pattern.search(text):
                    return place
        return None


def _packet_values(shown: dict[str, Any]) -> Iterator[Any]:
    """Yield the parts of the packet that change between turns, excluding counters and turn
    numbers.
    """
    yield from (shown[key] for key in _MEMORY)
    for action in shown["recent_actions"]:
        yield [action[key] for key in ("tool", "args", "summary")]


def _history_values(history: Sequence[Event]) -> Iterator[Any]:
    keys = {ToolCalled.type: "args", ToolResulted.type: "raw_output", AgentError.type: "message"}
    for event in history:
        yield event_data(event).get(keys[event.type])


def _joined(parts: Iterator[Any]) -> str:
    return _APART.join(_folded(_text(leaf)) for leaf in _leaves(list(parts), keys=True))


def _leaves(value: Any, *, keys: bool = False) -> Iterator[Any]:
    """Yield the leaves of nested lists and mappings, in order.

    If `keys` is True, also yield the keys of mappings.
    """
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            for key, inner in reversed(item.items()):
                left += [inner, key] if keys else [inner]
        elif isinstance(item, list):
            left += reversed(item)
        else:
            yield item


def _value(leaf: Any) -> str | None:
    if leaf is None or isinstance(leaf, bool):
        return None
    if isinstance(leaf, int) and abs(leaf) < SMALL_INTEGER:
        return None
    text = _folded(_text(leaf))
    return text if len(text) > 1 else None


def _text(leaf: Any) -> str:
    return leaf if isinstance(leaf, str) else str(to_packet_value(leaf))


def _folded(text: str) -> str:
    return " ".join(text.split())


def _whole(value: str) -> re.Pattern[str]:
    before = r"(?<!\w)(?<!\d\.)" if _is_word(value[0]) else ""
    behind = r"(?!\w)(?!\.\d)" if _is_word(value[-1]) else ""
    return re.compile(before + re.escape(value) + behind)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
