"""Strict checks of events passed by callers.

The event type must be known, and each tool result must have a tool name.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from remora.errors import InvalidEvent
from remora.memory.events import PAYLOADS, Event, ToolResulted
from remora.memory.tool_results import to_text

_KNOWN_TYPES = (*PAYLOADS, "hub_update")
"""All types of recorded events, and `hub_update`, which is only in the mission's plain dicts."""
_IGNORE = "pass strict=False to accept events that this version does not know"


class _ToolName(msgspec.Struct):
    tool: str = ""


def check_event(event: Event) -> None:
    """Raise InvalidEvent if the event type is unknown, or if a tool result has no tool name."""
    check_type(event.type)
    if event.type == ToolResulted.type:
        try:
            named = msgspec.json.decode(event.data, type=_ToolName).tool
        except msgspec.DecodeError:
            named = ""
        if not named:
            raise InvalidEvent(f"event {event.seq} is a tool result without a tool", hint=_IGNORE)


def check_type(kind: Any) -> None:
    """Raise InvalidEvent if `kind` is not a known event type."""
    if kind is None:
        raise InvalidEvent("the event has no type", hint=f"types: {', '.join(_KNOWN_TYPES)}")
    if kind not in _KNOWN_TYPES:
        meant = _did_you_mean(to_text(kind), _KNOWN_TYPES)
        raise InvalidEvent(f"unknown event type {to_text(kind)[:80]!r}{meant}", hint=_IGNORE)


def check_tool(tool_result: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Raise InvalidEvent if `tool_result` has no tool name under any of `keys`."""
    if any(to_text(tool_result.get(key)) for key in keys):
        return
    unused = [key for key in map(to_text, tool_result) if key not in keys]
    near = [key for key in unused if get_close_matches(key, keys)]
    meant = f" (did you mean {keys[0]!r} for {near[0]!r}?)" if near else ""
    raise InvalidEvent(f"a tool result without a tool{meant}", hint=f"set {keys[0]!r}; {_IGNORE}")


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
