"""Texts that say what happened in an event: summaries of one line, and transcripts.

A transcript is readable text, with the requests, answers, decisions and results of a stream.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from remora.memory.canonical import json_text
from remora.memory.events import Event
from remora.text import clip, escape_line
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import resolved_event

_WIDTH = 100
_INDENT = "    "
_SHOWN = 400
"""Maximum characters of a tool's raw output; requests and answers are shown in full."""


def summarize_event(event: Event) -> str:
    """Return a summary of at most 100 characters, or an empty string like `event_text`."""
    return clip(event_text(event), _WIDTH)


def event_text(event: Event) -> str:
    """Return what happened, such as a call and its decider.

    The text is empty if there is nothing to say of events of this type, or if the data is damaged.
    """
    describe, data = _TEXTS.get(event.type), _data(event)
    return "" if describe is None or data is None else describe(data)


def _data(event: Event) -> dict[str, Any] | None:
    try:
        data = msgspec.json.decode(event.data)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def call_text(data: dict[str, Any]) -> str:
    """Return a call as text, such as `apply_fix(code="safe")`."""
    args = data.get("args")
    named = args.items() if isinstance(args, dict) else ()
    return f"{data.get('tool')}({', '.join(f'{key}={json_text(value)}' for key, value in named)})"


def decision_text(data: dict[str, Any]) -> str:
    """Return the decider and, if there were candidates, the number of the chosen candidate."""
    candidates, choice = data.get("candidates"), data.get("choice")
    between = ""
    if isinstance(candidates, int) and isinstance(choice, int) and candidates:
        between = f", candidate {choice + 1} of {candidates}"
    return f"{data.get('decided_by')}{between}"


def decision_line(kind: str, data: dict[str, Any]) -> str:
    """Return the call, the result or the error of a turn as text, or an empty string for others."""
    describe = _LINES.get(kind)
    return "" if describe is None else describe(data)


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "tool_call": lambda data: f"{call_text(data)}, decided by {decision_text(data)}",
    "tool_result": lambda data: f"{data.get('outcome')} in {data.get('duration_ms')} ms",
    "agent_error": lambda data: f"{data.get('kind')}: {data.get('message')}",
}


def _agent_start(data: dict[str, Any]) -> str:
    model = data.get("model")
    named = model.get("name") if isinstance(model, dict) else None
    parent = data.get("parent")
    origin = ""
    if isinstance(parent, dict) and isinstance(parent.get("seq"), int):  # a fork or a retry
        origin = f", from line {parent['seq'] + 1} of {parent.get('agent_id')}"
    packet = data.get("packet")
    goal = packet.get("goal") if isinstance(packet, dict) else ""
    return f"{named}{origin}: {goal if isinstance(goal, str) else ''}"


def _model_request(data: dict[str, Any]) -> str:
    """Return the size and packet of a request."""
    packet = str(data.get("packet_sha256"))[:12]
    to = f"to {data['model']}, " if data.get("model") else ""
    size = f"{data.get('prompt_tokens')} tokens, {data.get('renderer')}"
    return f"{to}{size}, packet {packet}"


def _model_response(data: dict[str, Any]) -> str:
    """Return the answer's text, or its first call if the server parsed one."""
    call = data.get("call")
    if not isinstance(call, dict):
        return json_text(data.get("text"))
    match data.get("raw"):
        case {"choices": [{"message": {"tool_calls": [_, _, *_] as calls}}, *_]}:
            return f"first of {len(calls)} calls: {call_text(call)}"
    return call_text(call)


def _escalation(data: dict[str, Any]) -> str:
    model = data.get("model")
    named = model.get("name") if isinstance(model, dict) else None
    return f"to {named}: {data.get('reason')}"


def _context_update(data: dict[str, Any]) -> str:
    return f"{data.get('source')}{_after(data, 'error')}"


def _tool_result(data: dict[str, Any]) -> str:
    changes = data.get("changes")
    changed = f", {len(changes)} changed" if changes and isinstance(changes, list) else ""
    return f"{data.get('tool')}: {data.get('outcome')}{changed}{_after(data, 'error')}"


def _agent_end(data: dict[str, Any]) -> str:
    status, reason = data.get("status"), data.get("stop_reason")
    return f"{status}" if status == reason else f"{status}, {reason}"


def _run_start(data: dict[str, Any]) -> str:
    match data.get("plan"):
        case {"jobs": list() as jobs}:
            return f"{len(jobs)} jobs"
    return ""


def _job(data: dict[str, Any]) -> str:
    """Return the agent, status and node. The node comes last because it may be truncated."""
    fields = [str(data[key]) for key in ("agent_id", "status", "node_id") if key in data]
    return " ".join(fields).replace(" node:", " ", 1)


def _after(data: dict[str, Any], key: str) -> str:
    return f": {data[key]}" if data.get(key) else ""


_TEXTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "agent_start": _agent_start,
    "context_update": _context_update,
    "model_request": _model_request,
    "model_response": _model_response,
    "escalation": _escalation,
    "tool_call": lambda data: f"{call_text(data)} by {decision_text(data)}",
    "tool_result": _tool_result,
    "submit_result": lambda data: "checked" if data.get("verified") else "not checked",
    "agent_error": _LINES["agent_error"],
    "agent_end": _agent_end,
    "recovered": lambda d: f"{d.get('bytes')} bytes of a torn line moved to {d.get('quarantine')}",
    "run_start": _run_start,
    "job_start": _job,
    "job_end": _job,
    "gates": lambda data: f"proof: {data.get('proof')}",
    "review": lambda d: f"{d.get('agent_id')} {d.get('verdict')}{_after(d, 'feedback')}",
}


def transcript(events: Iterable[Event], blobs: ObjectStore | None = None) -> Iterator[str]:
    """Yield the lines of the transcript, without newlines. Events with invalid data are also
    accepted.

    With `blobs`, long requests and answers are read from there. Other long texts stay references.
    """
    turn = 0
    for event in events:
        if event.turn != turn:
            yield ""
            yield f"== turn {event.turn} =="
        whole = resolved_event(event, blobs) if blobs and event.type in _QUOTED else event
        yield from map(escape_line, _plain_lines(whole))
        turn = event.turn


def _plain_lines(event: Event) -> Iterator[str]:
    """Yield the lines of an event, not yet escaped for a terminal."""
    data = _data(event)
    if data is None:
        yield f"[{event.type}] (unreadable data)"
        return
    if event.type not in {"turn_start", *_QUOTED}:
        text = event_text(event)
        yield event.type.replace("_", " ") + (f": {text}" if text else "")
    details = _DETAILS.get(event.type)
    if details is not None:
        yield from details(data)


def _started(data: dict[str, Any]) -> Iterator[str]:
    packet = data.get("packet")
    packet = packet if isinstance(packet, dict) else {}
    yield f"{_INDENT}{packet.get('agent_id')} · {packet.get('operation')} · {packet.get('node_id')}"


def _request(data: dict[str, Any]) -> Iterator[str]:
    yield f"-> model ({data.get('renderer')}, {data.get('prompt_tokens')} tokens)"
    messages = data.get("messages")
    for message in messages if isinstance(messages, list) else [{"content": data.get("prompt")}]:
        if isinstance(message, dict):
            yield from _quoted(str(message.get("role", "prompt")), message.get("content"))
            if message.get("tool_calls"):
                yield f"{_INDENT}call {_json(message['tool_calls'])}"


def _response(data: dict[str, Any]) -> Iterator[str]:
    yield from _quoted("<- model", data.get("text"))
    if data.get("call"):
        yield f"{_INDENT}call {_json(data['call'])}"


def _result(data: dict[str, Any]) -> Iterator[str]:
    shown = _json(data.get("raw_output"))
    shown = shown[:_SHOWN] + "…" * (len(shown) > _SHOWN)
    yield f"{_INDENT}after {data.get('duration_ms')} ms: {shown}"
    changes = data.get("changes")
    for change in changes if isinstance(changes, list) else []:
        if isinstance(change, dict):
            yield f"{_INDENT}changed {change.get('path')}"


def _gates(data: dict[str, Any]) -> Iterator[str]:
    for taken in data.get("taken_out") or ():
        for reason in taken.get("reasons") or ():
            yield f"{_INDENT}{taken.get('agent_id')}: {reason}"


_DETAILS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "agent_start": _started,
    "model_request": _request,
    "model_response": _response,
    "tool_result": _result,
    "submit_result": lambda data: _quoted("summary", data.get("summary")),
    "agent_end": lambda data: iter([f"{_INDENT}{data['error']}"] if data.get("error") else ()),
    "gates": _gates,
    "run_end": lambda data: iter([f"{_INDENT}{_json(data.get('totals'))}"]),
}
_QUOTED = ("model_request", "model_response")
"""Events of which a transcript has the whole text."""


def _quoted(title: str, text: Any) -> Iterator[str]:
    """Yield a title, and a string to quote in full below it."""
    yield f"{title}:"
    for line in (text if isinstance(text, str) else _json(text)).split("\n"):
        yield _INDENT + line


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return "(nested too deeply)"
