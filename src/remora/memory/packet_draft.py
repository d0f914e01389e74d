"""The copy of a packet that a hook may change in place, and the delta of what it changed."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from remora.errors import UsageError
from remora.memory.canonical import to_packet_value
from remora.memory.delta import REPLACED, PacketDelta, key_changes, with_caps
from remora.memory.packet import DecisionPacket, Fact, NewAction
from remora.memory.tool_results import actions_of, to_list

_BY_KEY = ("knowledge", "hub_context", "hub_freshness", "extensions")
_CHANGEABLE = (*REPLACED, *_BY_KEY, "last_error", "recent_actions", "recent_history")
_HINT = f"a hook may change {', '.join(_CHANGEABLE)}, or return a PacketDelta"


class PacketDraft(DecisionPacket, frozen=False, kw_only=True):  # type: ignore[misc] # msgspec can
    """A packet with lists in place of tuples. A text appended to either history is an action."""

    recent_history: list[str] = []  # noqa: RUF012 - msgspec copies it


def draft_of(packet: DecisionPacket) -> PacketDraft:
    """Return a deep copy of the packet, in which all records can be changed."""
    return PacketDraft(**_copy(asdict(packet)), recent_history=packet.recent_history)


@cache
def _draft_kind(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    return msgspec.defstruct(kind.__name__, [], bases=(kind,), frozen=False, kw_only=True)


def _copy(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _draft_kind(type(value))(**_copy(asdict(value)))
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [*map(_copy, value)] if isinstance(value, (list, tuple)) else value


def deltas_of(packet: DecisionPacket, draft: PacketDraft, returned: Any) -> Iterator[PacketDelta]:
    """Yield the delta of what a hook changed in the draft, and the one that it returned."""
    if isinstance(returned, PacketDraft):
        draft, returned = returned, None
    if not isinstance(returned, PacketDelta | None):
        raise UsageError(f"a hook returned a value of type {type(returned).__name__}", hint=_HINT)
    for delta in (_delta_of(packet, draft), returned):
        if delta is not None and delta != PacketDelta():
            yield _checked(delta)


def _delta_of(packet: DecisionPacket, draft: PacketDraft) -> PacketDelta:
    before = draft_of(packet)
    changed = {k: value for k, value in asdict(draft).items() if value != getattr(before, k)}
    if fixed := next((name for name in changed if name not in _CHANGEABLE), None):
        raise UsageError(f"a hook changed {fixed}, which no event can change", hint=_HINT)
    by_key = {k: key_changes(_values(before, k), _values(draft, k)) for k in _BY_KEY}
    learned = by_key.pop("knowledge") or {}
    gone = tuple(key for key in before.knowledge if key not in draft.knowledge)
    return PacketDelta(
        **{name: value for name, value in changed.items() if name in REPLACED},
        **by_key,
        set_error=changed.get("last_error", UNSET),
        forget_knowledge=gone or UNSET,
        update_knowledge={k: v for k, v in learned.items() if k not in gone} or UNSET,
        add_action=_added_action(before, draft) or UNSET,
    )


def _values(draft: PacketDraft, name: str) -> Any:
    if not isinstance(values := getattr(draft, name), Mapping):
        raise UsageError(f"a hook set {name} to a {type(values).__name__}, no dict", hint=_HINT)
    return to_packet_value({k: v.value if isinstance(v, Fact) else v for k, v in values.items()})


def _added_action(before: PacketDraft, draft: PacketDraft) -> NewAction | None:
    number = len(before.recent_actions)
    lists = to_list(draft.recent_history), to_list(draft.recent_actions)
    added = [entry for entries in lists for entry in entries[number:]]
    kept = [entry for entries in lists for entry in entries[:number]]
    if kept != [*before.recent_history, *before.recent_actions] or len(added) > 1:
        what = "a hook changed earlier actions, or added several"
        raise UsageError(what, hint="append one to the end")
    return next(actions_of(_plain(added)), None)


def _checked(delta: PacketDelta) -> PacketDelta:
    given = {name: _plain(value) for name, value in asdict(delta).items() if value is not UNSET}
    try:
        return with_caps(msgspec.convert(given, PacketDelta))
    except msgspec.ValidationError as error:
        raise UsageError(f"a hook made an invalid change: {error}", hint=_HINT) from error


def _plain(value: Any) -> Any:
    """Return a field's value without records, because msgspec does not check the fields of one."""
    if isinstance(value, msgspec.Struct):
        return {name: field for name, field in asdict(value).items() if field is not UNSET}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) if isinstance(entry, msgspec.Struct) else entry for entry in value]
    return to_packet_value(value) if isinstance(value, Mapping) else value
