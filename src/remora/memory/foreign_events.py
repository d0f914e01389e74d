"""Events of other programs: strict checks, and deltas of plain dicts as in the concept papers.

Plain dicts are `{type: "turn_start", turn}`, `{type: "hub_update", hub_context, hub_freshness?}`,
and four shapes of tool results:

1. `{type, tool, data: {raw_output, args?, summary?, knowledge_delta?, error?, outcome?}}`
2. the same with `data.summary_delta {recent_actions | recent_history: [str], knowledge, …}`
3. `{type, tool_name, raw_output, delta: {add_history, update_knowledge, set_error}}`
4. a trace entry, `{turn, tool, args, raw_output, parsed_output, packet_delta}`
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from remora.errors import InvalidEvent
from remora.memory.canonical import safe_repr
from remora.memory.delta import PacketDelta, knowledge_key, with_caps
from remora.memory.events import PAYLOADS, Event, ToolResulted, decode_event
from remora.memory.tool_results import (
    RESULT_KEYS,
    actions_of,
    to_dict,
    to_list,
    to_text,
    with_stated,
)
from remora.text import did_you_mean
from remora.tool_contract import CARRIED

_KNOWN_TYPES = (*PAYLOADS, "hub_update")
"""All types of recorded events, and `hub_update`, which is only in plain dicts."""
_IGNORE = "pass strict=False to accept events that this version does not know"


class _ToolName(msgspec.Struct):
    tool: str | dict[str, str] = ""  # a name with lone surrogates is marked


def read_event(event: Event | Mapping[str, Any] | str | bytes) -> Event | Mapping[str, Any]:
    """Return a recorded event of a line or dict of a stream, or a plain dict of any other.

    Raises InvalidEvent if a line is not a JSON object, or if a recorded event is not valid.
    """
    try:
        if isinstance(event, (str, bytes)):
            event = msgspec.json.decode(event, type=dict[str, Any])
        if isinstance(event, Mapping) and {"v", "seq"} <= event.keys():
            return decode_event(msgspec.json.encode(event))
    except (msgspec.DecodeError, UnicodeEncodeError, TypeError, RecursionError) as error:
        raise InvalidEvent(f"not an event of a stream: {error}") from error
    return event


def check_event(event: Event) -> None:
    """Raise InvalidEvent if the event type is unknown, or if a tool result has no tool name."""
    _check_type(event.type)
    if event.type == ToolResulted.type:
        try:
            named = msgspec.json.decode(event.data, type=_ToolName).tool
        except msgspec.DecodeError:
            named = ""
        if not named:
            raise InvalidEvent(f"event {event.seq} is a tool result without a tool", hint=_IGNORE)


def _check_type(kind: Any) -> None:
    if kind is None:
        raise InvalidEvent("the event has no type", hint=f"types: {', '.join(_KNOWN_TYPES)}")
    if kind not in _KNOWN_TYPES:
        meant = did_you_mean(to_text(kind), _KNOWN_TYPES)
        raise InvalidEvent(f"unknown event type {to_text(kind)[:80]!r}{meant}", hint=_IGNORE)


def check_result(tool_result: Mapping[str, Any], known: Iterable[str], *tool_keys: str) -> None:
    """Raise InvalidEvent if `tool_result` has a misspelled key, or no tool name."""
    _check_keys("a tool result", tool_result, {*known, *tool_keys})
    if not any(to_text(tool_result.get(key)) for key in tool_keys):
        hint = f"set {tool_keys[0]!r}; {_IGNORE}"
        raise InvalidEvent("a tool result without a tool", hint=hint)


def _check_keys(
    what: str, given: Mapping[str, Any], known: Collection[str], near: Collection[str] = ()
) -> None:
    """Raise InvalidEvent for a key that is near one of `near`, or of `known` if that is empty."""
    for key in map(to_text, given.keys() - known):
        if meant := did_you_mean(key, near or known, strict=True):
            raise InvalidEvent(f"unknown key {key[:80]!r} of {what}{meant}", hint=_IGNORE)


_DELTAS = ("summary_delta", "delta", "packet_delta")
_SAID = ("add_history", "recent_actions", "recent_history", "recent_results")
_LEARNED = ("update_knowledge", "knowledge")
_FAILED = ("set_error", "last_error")
_TAKEN = (*CARRIED, "forget_knowledge", "hub_context", "hub_freshness")
_DELTA_KEYS = frozenset({"turn", "add_action", *_SAID, *_LEARNED, *_FAILED, *_TAKEN})
_UNLIKE_FACTS = [*_LEARNED, *_FAILED, *_SAID[1:]]
"""The keys of a delta that no fact is likely to resemble, as `turns` resembles `turn`."""
_HUB_KEYS = ("type", "turn", "timestamp", "data", "hub_context", "hub_freshness")
_EVENT_KEYS = ("type", "turn", "parsed_output", "data", *RESULT_KEYS, *_DELTAS)


def delta_of_plain_event(
    event: Mapping[str, Any], delta_for: Callable[[Mapping[str, Any]], PacketDelta], *, strict: bool
) -> PacketDelta:
    """Return the delta of a plain-dict event.

    With `strict`, raise InvalidEvent if the event type is unknown, a tool result has no tool name
    or a misspelled key, or a `hub_update` has no facts.
    """
    is_entry = "type" not in event and "tool" in event
    kind = ToolResulted.type if is_entry else event.get("type")
    if strict:
        _check_type(kind)
    turn = event.get("turn")
    turn_set = PacketDelta(turn=turn) if type(turn) is int else PacketDelta()
    if kind == "turn_start":
        return turn_set
    if kind == "hub_update":
        return hub_delta_of(event, strict=strict)
    if kind != ToolResulted.type:
        return PacketDelta()
    if strict:
        check_result(event, _EVENT_KEYS, "tool", "tool_name")
    delta = delta_for(result := _tool_result(event, strict=strict))
    hub, gone = hub_delta_of(result, strict=False), to_list(result.get("forget_knowledge"))
    stated: dict[str, Any] = {"hub_context": hub.hub_context, "hub_freshness": hub.hub_freshness}
    stated["turn"] = turn_set.turn if is_entry else msgspec.UNSET
    stated["forget_knowledge"] = tuple(map(knowledge_key, gone)) or msgspec.UNSET
    return msgspec.structs.replace(delta, **stated)


def hub_delta_of(event: Mapping[str, Any], *, strict: bool) -> PacketDelta:
    """Return the delta of facts by node. A single time is the freshness of all of them."""
    data = to_dict(event.get("data")) or event
    if strict:
        _check_keys("a hub_update", {**event, **data}, _HUB_KEYS)
    context, times = data.get("hub_context"), data.get("hub_freshness")
    if not isinstance(context, Mapping):
        if strict:
            hint = 'set "hub_context" to {node: facts}'
            raise InvalidEvent("a hub_update without facts", hint=hint)
        return PacketDelta()
    if not isinstance(times, Mapping):
        times = {} if times is None else dict.fromkeys(context, times)
    times = {k: t.isoformat() if isinstance(t, datetime) else t for k, t in times.items()}
    return with_caps(PacketDelta(hub_context=dict(context), hub_freshness=times))


def _tool_result(event: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    data = to_dict(event.get("data"))
    if strict:
        _check_keys("a tool result", data, {*RESULT_KEYS, *_DELTAS})
    given = {**event, **data}
    result = {key: given[key] for key in RESULT_KEYS if given.get(key) is not None}
    result["tool"] = event.get("tool") or event.get("tool_name") or ""
    result["raw_output"] = given.get("raw_output")  # also if it is null
    result = with_stated({**result, "parsed_output": given.get("parsed_output")})
    for delta in (source.get(key) for source in (data, event) for key in _DELTAS):
        is_record = isinstance(delta, PacketDelta)
        said = to_dict(msgspec.to_builtins(delta, enc_hook=safe_repr) if is_record else delta)
        if strict:
            _check_keys("a delta", said, _DELTA_KEYS, _UNLIKE_FACTS)
        result |= _said(said, to_dict(result.get("knowledge_delta")))
    return result


def _said(delta: Mapping[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return what a delta says, as keys of a tool result.

    The actions become the summary. Unknown keys become facts beside the `known` ones.
    """
    said = {**to_dict(delta.get("add_action")), **{key: delta.get(key) for key in _TAKEN}}
    if told := _first_of(delta, _SAID):
        said["summary"] = "; ".join(action.summary for action in actions_of(told))
    said["error"] = _first_of(delta, _FAILED)
    facts = {key: value for key, value in delta.items() if key not in _DELTA_KEYS}
    said["knowledge_delta"] = known | to_dict(_first_of(delta, _LEARNED)) | facts or None
    return {key: said[key] for key in (*RESULT_KEYS, *_TAKEN) if said.get(key) is not None}


def _first_of(delta: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next(filter(None, map(delta.get, keys)), None)
