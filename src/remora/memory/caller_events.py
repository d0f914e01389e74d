"""Events passed by callers: strict checks, and deltas of plain dicts as in the concept papers.

Plain dicts are `{type: "turn_start", turn}`, `{type: "hub_update", hub_context, hub_freshness?}`,
and four shapes of tool results:

1. `{type, tool, data: {raw_output, args?, summary?, knowledge_delta?, error?, outcome?}}`
2. the same with `data.summary_delta {recent_actions | recent_history: [str], knowledge, …}`
3. `{type, tool_name, raw_output, delta: {add_history, update_knowledge, set_error}}`
4. a trace entry, `{turn, tool, args, raw_output, parsed_output, packet_delta}`
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from remora.errors import InvalidEvent
from remora.memory.delta import PacketDelta, with_caps
from remora.memory.events import PAYLOADS, Event, ToolResulted, decode_event
from remora.memory.tool_results import to_dict, to_list, to_text

_KNOWN_TYPES = (*PAYLOADS, "hub_update")
"""All types of recorded events, and `hub_update`, which is only in plain dicts."""
_IGNORE = "pass strict=False to accept events that this version does not know"


class _ToolName(msgspec.Struct):
    tool: str = ""


def read_event(event: Event | Mapping[str, Any] | str | bytes) -> Event | Mapping[str, Any]:
    """Return a recorded event of a line or dict of a stream, or a plain dict of any other.

    Raises InvalidEvent if a line is not a JSON object, or if a recorded event is not valid.
    """
    try:
        if isinstance(event, (str, bytes)):
            event = msgspec.json.decode(event, type=dict[str, Any])
        if isinstance(event, Mapping) and {"v", "seq"} <= event.keys():
            return decode_event(msgspec.json.encode(event))
    except (msgspec.DecodeError, UnicodeEncodeError, TypeError) as error:
        raise InvalidEvent(f"not an event of a stream: {error}") from error
    return event


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
        meant = did_you_mean(to_text(kind), _KNOWN_TYPES)
        raise InvalidEvent(f"unknown event type {to_text(kind)[:80]!r}{meant}", hint=_IGNORE)


def check_tool(tool_result: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Raise InvalidEvent if `tool_result` has no tool name under any of `keys`."""
    if any(to_text(tool_result.get(key)) for key in keys):
        return
    unused = [key for key in map(to_text, tool_result) if key not in keys]
    near = [key for key in unused if did_you_mean(key, keys)]
    meant = f" (did you mean {keys[0]!r} for {near[0]!r}?)" if near else ""
    raise InvalidEvent(f"a tool result without a tool{meant}", hint=f"set {keys[0]!r}; {_IGNORE}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that names the nearest of `known`, or an empty string."""
    from difflib import get_close_matches  # imported when something is wrong, as it is slow

    near = get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


_TOOL_KEYS = ("tool", "tool_name")
CARRIED = ("diagnostics", "candidate_actions", "state_summary", "excerpt", "extensions")
_RESULT_KEYS = ("args", "summary", "knowledge_delta", "error", "outcome", *CARRIED)
_DELTAS = ("summary_delta", "delta", "packet_delta")
_SAID = ("add_history", "recent_actions", "recent_history", "recent_results")
_LEARNED = ("update_knowledge", "knowledge")
_FAILED = ("set_error", "last_error")
_CONTRACT = frozenset({"summary", "outcome", "knowledge_delta"})


def delta_of_plain_event(
    event: Mapping[str, Any], delta_for: Callable[[Mapping[str, Any]], PacketDelta], *, strict: bool
) -> PacketDelta:
    """Return the delta of a plain-dict event.

    With `strict`, raise InvalidEvent if the event type is unknown, a tool result has no tool name,
    or a `hub_update` has no facts.
    """
    is_entry = "type" not in event and "tool" in event
    kind = ToolResulted.type if is_entry else event.get("type")
    if strict:
        check_type(kind)
    if kind == "turn_start":
        return _turn_set(event)
    if kind == "hub_update":
        return _hub_delta(event, strict=strict)
    if kind != ToolResulted.type:
        return PacketDelta()
    if strict:
        check_tool(event, _TOOL_KEYS)
    delta = delta_for(_tool_result(event))
    return msgspec.structs.replace(delta, turn=_turn_set(event).turn) if is_entry else delta


def raw_output_of(tool_result: Mapping[str, Any]) -> Any:
    """Return the raw output of a tool, or the whole result if there is no raw output.

    This is the input of a summarizer.
    """
    return tool_result.get("raw_output", tool_result)


def with_contract(tool_result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a tool result with what its raw output says, if that is a dict of the contract.

    The contract is `{result, summary, knowledge_delta, outcome, …}`. What the result says itself
    stays.
    """
    raw = to_dict(tool_result.get("raw_output"))
    if "result" not in raw or _CONTRACT.isdisjoint(raw):
        return tool_result
    said = {key: raw[key] for key in _RESULT_KEYS if raw.get(key) is not None and key != "args"}
    return {**said, **tool_result}


def _turn_set(event: Mapping[str, Any]) -> PacketDelta:
    turn = event.get("turn")
    return PacketDelta(turn=turn) if type(turn) is int else PacketDelta()


def _hub_delta(event: Mapping[str, Any], *, strict: bool) -> PacketDelta:
    """Return the delta of facts by node. A single time is the freshness of all of them."""
    data = to_dict(event.get("data")) or event
    context = data.get("hub_context")
    if not isinstance(context, Mapping):
        if strict:
            raise InvalidEvent(
                "a hub_update without facts", hint='set "hub_context" to {node: facts}'
            )
        return PacketDelta()
    freshness = data.get("hub_freshness")
    if not isinstance(freshness, Mapping):
        freshness = {} if freshness is None else dict.fromkeys(context, freshness)
    times = {node: _time_text(time) for node, time in freshness.items()}
    return with_caps(PacketDelta(hub_context=dict(context), hub_freshness=times))


def _time_text(time: Any) -> Any:
    return time.isoformat() if isinstance(time, datetime) else time


def _tool_result(event: Mapping[str, Any]) -> dict[str, Any]:
    data = to_dict(event.get("data"))
    result: dict[str, Any] = {
        "tool": next(filter(None, map(event.get, _TOOL_KEYS)), ""),
        "raw_output": data.get("raw_output", event.get("raw_output")),
    }
    if event.get("args") is not None:
        result["args"] = event["args"]
    for key in _RESULT_KEYS:
        if data.get(key) is not None:
            result[key] = data[key]
    for source in (data, event):
        for key in _DELTAS:
            if delta := _as_dict(source.get(key)):
                _read_delta(result, delta)
    return result


def _as_dict(delta: Any) -> dict[str, Any]:
    return to_dict(msgspec.to_builtins(delta) if isinstance(delta, PacketDelta) else delta)


def _read_delta(result: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add what a delta says to a tool result.

    The most recent action becomes the summary, and unknown keys become facts.
    """
    if action := to_dict(delta.get("add_action")):
        result.update({key: action[key] for key in _RESULT_KEYS if action.get(key) is not None})
    if actions := _first_of(delta, _SAID):
        last = to_list(actions)[-1]
        result["summary"] = to_text(last.get("summary") if isinstance(last, Mapping) else last)
    if error := _first_of(delta, _FAILED):
        result["error"] = error
    result.update({key: delta[key] for key in CARRIED if delta.get(key) is not None})
    known = {"turn", "add_action", *_SAID, *_LEARNED, *_FAILED, *CARRIED}
    facts = to_dict(_first_of(delta, _LEARNED))
    facts |= {key: value for key, value in delta.items() if key not in known}
    result["knowledge_delta"] = facts


def _first_of(delta: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next(filter(None, map(delta.get, keys)), None)
