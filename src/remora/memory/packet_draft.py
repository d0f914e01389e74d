"""The copy of a packet that a hook may change in place, and the delta of what it changed."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from remora.errors import UsageError
from remora.memory.delta import REPLACED, PacketDelta, key_changes
from remora.memory.packet import DecisionPacket, Fact, NewAction
from remora.memory.tool_results import actions

_BY_KEY = ("hub_context", "hub_freshness", "extensions")
_CHANGEABLE = (*REPLACED, "knowledge", "last_error", *_BY_KEY, "recent_actions")
_HINT = f"a hook may change {', '.join(_CHANGEABLE)}, or return a PacketDelta"


class PacketDraft(DecisionPacket, frozen=False, kw_only=True):  # type: ignore[misc] # msgspec can
    """A packet that can be changed, with lists in place of tuples.

    `recent_history` has the summaries of `recent_actions`; a text that is appended becomes an
    action.
    """

    recent_history: list[str] = []  # noqa: RUF012 - msgspec copies it


def draft_of(packet: DecisionPacket) -> PacketDraft:
    """Return a deep copy of the packet."""
    fields: dict[str, Any] = {
        name: [*value] if isinstance(value, tuple) else deepcopy(value)
        for name, value in asdict(packet).items()
    }
    return PacketDraft(**fields, recent_history=packet.recent_history)


def delta_of(packet: DecisionPacket, draft: PacketDraft) -> PacketDelta:
    """Return the delta that changes the packet into the draft.

    Raises UsageError if no delta can, and says how the change is made.
    """
    for name in packet.__struct_fields__:
        if name not in _CHANGEABLE and getattr(draft, name) != getattr(packet, name):
            raise UsageError(f"a hook changed {name}, which no event can change", hint=_HINT)
    now = {name: getattr(draft, name) for name in REPLACED}
    now = {name: tuple(v) if isinstance(v, list) else v for name, v in now.items()}
    changed: dict[str, Any] = {k: v for k, v in now.items() if v != getattr(packet, k)}
    for name in _BY_KEY:
        changed[name] = key_changes(getattr(packet, name), getattr(draft, name))
    if draft.last_error != packet.last_error:
        changed["set_error"] = draft.last_error
    before, after = _values(packet.knowledge), _values(draft.knowledge)
    return PacketDelta(
        **changed,
        forget_knowledge=tuple(key for key in before if key not in after) or UNSET,
        update_knowledge={k: v for k, v in after.items() if (k, v) not in before.items()} or UNSET,
        add_action=_added_action(packet, draft) or UNSET,
    )


def _values(knowledge: Mapping[str, Any]) -> dict[str, Any]:
    return {key: v.value if isinstance(v, Fact) else v for key, v in knowledge.items()}


def _added_action(packet: DecisionPacket, draft: PacketDraft) -> NewAction | None:
    number = len(packet.recent_actions)
    added: list[Any] = [*draft.recent_history[number:], *draft.recent_actions[number:]]
    is_kept = (
        draft.recent_history[:number] == packet.recent_history
        and tuple(draft.recent_actions[:number]) == packet.recent_actions
    )
    if not is_kept or len(added) > 1:
        raise UsageError(
            "a hook changed earlier actions, or added several", hint="append one to the end"
        )
    return next(actions(msgspec.to_builtins(added)), None)
