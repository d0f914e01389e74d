"""Values of call arguments, and the text of a packet in which they may occur."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from remora.memory.canonical import to_packet_value
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import prompt_context

_SMALL_INTEGER = 10
"""Smaller integers occur in any text by chance and are ignored."""
_SHOWN = (
    *("goal", "operation", "node_id", "node_type", "node_summary"),
    *("state_summary", "excerpt", "diagnostics", "knowledge", "last_error", "hub_context"),
    *("extensions", "candidate_actions"),
)
_OF_ACTIONS = ("tool", "args", "summary")
_APART = "\0"


def argument_values(arguments: Any) -> list[str]:
    """Return the strings and numbers in `arguments`, in order and including duplicates.

    Whitespace in strings is collapsed. Booleans, nulls, strings with fewer than two characters, and
    small integers are ignored, because they could be in any packet.
    """
    return [text for leaf in _leaves(arguments) if (text := _value(leaf))]


class PacketText:
    """The text of a packet, except its counters and turn numbers."""

    def __init__(self, packet: DecisionPacket) -> None:
        shown = prompt_context(packet)
        actions = ({key: action[key] for key in _OF_ACTIONS} for action in shown["recent_actions"])
        self._text = _joined([*(shown[key] for key in _SHOWN), *actions])

    def has(self, value: str) -> bool:
        """Return True if `value` occurs as a whole word or number."""
        return value in self._text and _whole(value).search(self._text) is not None


def _joined(parts: Iterable[Any]) -> str:
    return _APART.join(_folded(_text(leaf)) for leaf in _leaves(list(parts), keys=True))


def _leaves(value: Any, *, keys: bool = False) -> Iterator[Any]:
    """Yield the leaves of nested lists and mappings, in order, and the keys if they are wanted."""
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
    if isinstance(leaf, int) and abs(leaf) < _SMALL_INTEGER:
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
