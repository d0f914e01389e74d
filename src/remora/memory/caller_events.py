"""Events passed by callers: strict checks, and deltas of plain dicts as in the mission documents.

In addition to `{type: "turn_start", turn}`, three shapes of tool results are supported:

1. `{type, tool, data: {raw_output, args?, summary?, knowledge_delta?, error?, outcome?}}`
2. the same with `data.summary_delta {recent_actions | recent_history: [str], knowledge, …}`
3. `{type, tool_name, raw_output, delta: {add_history, update_knowledge, set_error}}`
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from remora.errors import InvalidEvent
from remora.memory.delta import PacketDelta
from remora.memory.events import PAYLOADS, Event, ToolResulted
from remora.memory.tool_results import to_dict, to_list, to_text

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


_TOOL_KEYS = ("tool", "tool_name")
CARRIED = ("diagnostics", "candidate_actions", "state_summary", "excerpt", "extensions")
_KNOWN_SUMMARY_KEYS = frozenset({"recent_actions", "recent_history", "knowledge", "last_error"})


def delta_of_plain_event(
    event: Mapping[str, Any], delta_for: Callable[[Mapping[str, Any]], PacketDelta], *, strict: bool
) -> PacketDelta:
    """Return the delta of a plain-dict event.

    With `strict`, raise InvalidEvent if the event type is unknown or a tool result has no tool
    name.
    """
    kind = event.get("type")
    if strict:
        check_type(kind)
    if kind == "turn_start":
        turn = event.get("turn")
        return PacketDelta(turn=turn) if type(turn) is int else PacketDelta()
    if kind != "tool_result":
        return PacketDelta()
    if strict:
        check_tool(event, _TOOL_KEYS)
    return delta_for(_tool_result(event))


def raw_output_of(tool_result: Mapping[str, Any]) -> Any:
    """Return the raw output of a tool, or the whole result if there is no raw output.

    This is the input of a summarizer.
    """
    return tool_result.get("raw_output", tool_result)


def _tool_result(event: Mapping[str, Any]) -> dict[str, Any]:
    data = to_dict(event.get("data"))
    result: dict[str, Any] = {
        "tool": next(filter(None, map(event.get, _TOOL_KEYS)), ""),
        "raw_output": data.get("raw_output", event.get("raw_output")),
    }
    for key in ("args", "summary", "knowledge_delta", "error", "outcome", *CARRIED):
        if data.get(key) is not None:
            result[key] = data[key]
    _read_summary_delta(result, data.get("summary_delta"))
    _read_delta(result, event.get("delta"))
    return result


def _read_summary_delta(result: dict[str, Any], delta: Any) -> None:
    """Read a tool result of shape 2.

    The most recent action becomes the summary, and unknown keys become facts.
    """
    if not isinstance(delta, Mapping):
        return
    if actions := to_list(delta.get("recent_actions") or delta.get("recent_history")):
        result["summary"] = to_text(actions[-1])
    facts = to_dict(delta.get("knowledge"))
    facts |= {key: value for key, value in delta.items() if key not in _KNOWN_SUMMARY_KEYS}
    result["knowledge_delta"] = facts
    if delta.get("last_error"):
        result["error"] = delta["last_error"]


def _read_delta(result: dict[str, Any], delta: Any) -> None:
    """Read a tool result of shape 3."""
    if not isinstance(delta, Mapping):
        return
    if delta.get("add_history"):
        result["summary"] = to_text(delta["add_history"])
    result["knowledge_delta"] = to_dict(delta.get("update_knowledge"))
    if delta.get("set_error"):
        result["error"] = delta["set_error"]
