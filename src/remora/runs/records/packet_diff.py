"""Differences between the packets of two decisions of the same agent."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import msgspec

from remora.memory.canonical import canonical
from remora.memory.packet import DecisionPacket, packet_json

Op = Literal["add", "remove", "change"]


class PacketChange(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between two packets."""

    op: Op
    path: str
    """A JSON Pointer, with the index in the later packet, or in the earlier one of a removed item."""
    before: Any
    """Null if the value was added."""
    after: Any
    """Null if the value was removed."""


def packet_changes(before: DecisionPacket, after: DecisionPacket) -> list[PacketChange]:
    """Return the differences between two packets, in packet order.

    The list is empty only if both packets are equal as JSON. Objects such as `knowledge` are
    compared key by key, and lists such as `diagnostics` are compared item by item. Any other value
    is compared as a whole.
    """
    return packet_json_changes(packet_json(before), packet_json(after))


def packet_json_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[PacketChange]:
    """Return the differences between two packets in the form of `packet_json`."""
    return list(_members("", before, after))


_BY_KEY = frozenset({"/knowledge", "/hub_context", "/hub_freshness", "/extensions", "/omitted"})
_BY_ITEM = frozenset({"/diagnostics", "/candidate_actions", "/recent_actions"})


def _members(
    path: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[PacketChange]:
    for key in dict.fromkeys([*before, *after]):
        place = path + "/" + key.replace("~", "~0").replace("/", "~1")
        if key not in after:
            yield PacketChange(op="remove", path=place, before=before[key], after=None)
        elif key not in before:
            yield PacketChange(op="add", path=place, before=None, after=after[key])
        elif _same(before[key], after[key]):
            continue
        elif place in _BY_KEY:
            yield from _members(place, before[key], after[key])
        elif place in _BY_ITEM:
            yield from _items(place, before[key], after[key])
        else:
            yield PacketChange(op="change", path=place, before=before[key], after=after[key])


def _items(place: str, before: Sequence[Any], after: Sequence[Any]) -> Iterator[PacketChange]:
    spelled = [list(map(canonical, items)) for items in (before, after)]
    matcher = SequenceMatcher(a=spelled[0], b=spelled[1], autojunk=False)
    for op, *spans in matcher.get_opcodes():
        if op != "equal":
            old = {index: before[index] for index in range(*spans[:2])}
            new = {index: after[index] for index in range(*spans[2:])}
            yield from _replaced(place, old, new)


def _replaced(place: str, old: dict[int, Any], new: dict[int, Any]) -> Iterator[PacketChange]:
    """Yield the changes in a replaced range of a list. `old` and `new` map indexes to items."""
    pairs = {
        before: after
        for before, after in zip(old, new, strict=False)
        if _is_same_call(old[before], new[after])
    }
    for index, item in old.items():
        if index in pairs:
            to = pairs[index]
            yield PacketChange(op="change", path=f"{place}/{to}", before=item, after=new.pop(to))
        else:
            yield PacketChange(op="remove", path=f"{place}/{index}", before=item, after=None)
    for index, item in new.items():
        yield PacketChange(op="add", path=f"{place}/{index}", before=None, after=item)


def _is_same_call(before: Any, after: Any) -> bool:
    """Return True if both items call the same tool with the same arguments."""
    if not isinstance(before, dict) or not isinstance(after, dict) or "tool" not in before:
        return False
    return all(_same(before.get(key), after.get(key)) for key in ("tool", "args"))


def _same(before: Any, after: Any) -> bool:
    # 1 differs from true; the order of keys is irrelevant
    return canonical(before) == canonical(after)
