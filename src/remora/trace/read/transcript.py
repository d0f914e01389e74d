"""Human-readable transcript of a stream, with its requests, answers, decisions and results."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from remora.memory.events import Event
from remora.text import escape_line

_INDENT = "    "
_SHOWN = 400
"""Maximum characters of a tool's raw output; requests and answers are shown in full."""


def transcript(events: Iterable[Event]) -> Iterator[str]:
    """Yield the lines of the transcript, without newlines. Events with invalid data are also
    accepted.
    """
    turn = 0
    for event in events:
        yield from _lines(event, turn)
        turn = event.turn


class LlmConversationLogger:
    """Event listener that writes the transcript as events arrive."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._turn = 0

    def __call__(self, event: Event) -> None:
        """Write the transcript lines of an event."""
        for line in _lines(event, self._turn):
            self._write(f"{line}\n")
        self._turn = event.turn


def _lines(event: Event, turn: int) -> Iterator[str]:
    """Yield the transcript lines of an event. `turn` is the turn of the previous event."""
    if event.turn != turn:
        yield ""
        yield f"== turn {event.turn} =="
    yield from map(escape_line, _plain_lines(event))


def _plain_lines(event: Event) -> Iterator[str]:
    """Yield the lines of an event, not yet escaped for a terminal."""
    try:
        data = msgspec.json.decode(event.data)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        yield f"[{event.type}] (unreadable data)"
        return
    write = _WRITERS.get(event.type)
    yield from write(data) if write else iter((f"[{event.type}]",))


def _started(data: dict[str, Any]) -> Iterator[str]:
    packet = data.get("packet")
    packet = packet if isinstance(packet, dict) else {}
    yield f"agent {packet.get('agent_id')} · {packet.get('operation')} · {packet.get('node_id')}"
    yield f"goal: {packet.get('goal')}"
    parent = data.get("parent")
    if isinstance(parent, dict):
        yield f"continues from {parent.get('agent_id')}, event {parent.get('seq')}"


def _context(data: dict[str, Any]) -> Iterator[str]:
    error = data.get("error")
    yield f"context from {data.get('source')}" + (f": {error}" if error else "")


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
    if isinstance(miss := data.get("parser_miss"), dict):
        by, why = f"{miss.get('server')} {miss.get('version')}", miss.get("reason")
        left = f"left a call of the family {miss.get('family')} in the text"
        yield f"{_INDENT}parser_miss: {by} {left}" + (f" ({why})" if why else "")


def _call(data: dict[str, Any]) -> Iterator[str]:
    yield f"{data.get('decided_by')} decides: {data.get('tool')}({_json(data.get('args'))})"


def _result(data: dict[str, Any]) -> Iterator[str]:
    yield f"{data.get('tool')}: {data.get('outcome')} in {data.get('duration_ms')} ms"
    shown = _json(data.get("raw_output"))
    yield f"{_INDENT}{shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}"
    if data.get("error"):
        yield f"{_INDENT}error: {data['error']}"
    changes = data.get("changes")
    for change in changes if isinstance(changes, list) else []:
        if isinstance(change, dict):
            yield f"{_INDENT}changed {change.get('path')}"


def _submitted(data: dict[str, Any]) -> Iterator[str]:
    yield f"submitted ({'verified' if data.get('verified') else 'not verified'})"
    yield from _quoted("summary", data.get("summary"))


def _ended(data: dict[str, Any]) -> Iterator[str]:
    yield f"end: {data.get('status')} ({data.get('stop_reason')})"
    if data.get("error"):
        yield f"{_INDENT}{data['error']}"


def _run_started(data: dict[str, Any]) -> Iterator[str]:
    plan, base = data.get("plan"), data.get("base")
    jobs = plan.get("jobs") if isinstance(plan, dict) else None
    commit = base.get("commit") if isinstance(base, dict) else None
    yield f"run of {len(jobs) if isinstance(jobs, list) else 0} jobs on {commit or 'no commit'}"


def _job(data: dict[str, Any]) -> Iterator[str]:
    yield f"job {data.get('agent_id')} {data.get('node_id')} {data.get('status', 'starts')}"


def _reviewed(data: dict[str, Any]) -> Iterator[str]:
    yield f"{data.get('verdict')}: {data.get('agent_id')} (by {data.get('surface')})"
    written = data.get("written")
    if isinstance(written, dict):
        hunks = f"hunks {_json(written.get('hunks'))} of {written.get('of')}"
        yield _INDENT + ("edited" if written.get("edited") else hunks)
    if data.get("feedback"):
        yield from _quoted("feedback", data["feedback"])


def _run_ended(data: dict[str, Any]) -> Iterator[str]:
    yield f"end of the run: {_json(data.get('totals'))}"


def _as(form: str) -> Callable[[dict[str, Any]], Iterator[str]]:
    return lambda data: iter([form.format_map(defaultdict(lambda: None, data))])


_WRITERS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "agent_start": _started,
    "turn_start": lambda _data: iter(()),
    "context_update": _context,
    "model_request": _request,
    "model_response": _response,
    "tool_call": _call,
    "tool_result": _result,
    "submit_result": _submitted,
    "agent_error": _as("error ({kind}): {message}"),
    "escalation": _as("escalated to a larger model: {reason}"),
    "agent_end": _ended,
    "recovered": _as("recovered: {bytes} bytes moved to {quarantine}"),
    "run_start": _run_started,
    "job_start": _job,
    "job_end": _job,
    "review": _reviewed,
    "run_end": _run_ended,
}


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
