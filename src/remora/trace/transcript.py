"""A stream as people read it: who was asked what, who decided, what came of it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from remora.memory.events import Event

_INDENT = "    "
_SHOWN = 400
"""Characters of a tool's raw output; requests and answers are shown whole."""
_CONTROLS = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if c != ord("\t")}
"""What a terminal would obey is spelled out: a transcript quotes what nobody vouches for."""


def transcript(events: Iterable[Event]) -> Iterator[str]:
    """Lines without newlines; pure, and total for every event that could be decoded."""
    turn = 0
    for event in events:
        if event.turn != turn:
            turn = event.turn
            yield ""
            yield f"== turn {turn} =="
        yield from _paragraph(event)


class LlmConversationLogger:
    """A listener that writes the transcript as it happens, line by line."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._turn = 0

    def __call__(self, event: Event) -> None:
        """Write what the transcript says of one more event."""
        if event.turn != self._turn:
            self._turn = event.turn
            self._write(f"\n== turn {event.turn} ==\n")
        for line in _paragraph(event):
            self._write(f"{line}\n")


def _paragraph(event: Event) -> Iterator[str]:
    for line in _lines_of(event):
        yield line.translate(_CONTROLS)


def _lines_of(event: Event) -> Iterator[str]:
    try:
        data = msgspec.json.decode(event.data)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        yield f"[{event.type}] (unreadable data)"
        return
    write = _PARAGRAPHS.get(event.type)
    yield from write(data) if write else iter((f"[{event.type}]",))


def _started(data: dict[str, Any]) -> Iterator[str]:
    packet = data.get("packet")
    packet = packet if isinstance(packet, dict) else {}
    yield f"agent {packet.get('agent_id')} · {packet.get('operation')} · {packet.get('node_id')}"
    yield f"goal: {packet.get('goal')}"


def _context(data: dict[str, Any]) -> Iterator[str]:
    error = data.get("error")
    yield f"context from {data.get('source')}" + (f": {error}" if error else "")


def _request(data: dict[str, Any]) -> Iterator[str]:
    yield f"-> model ({data.get('renderer')}, {data.get('prompt_tokens')} tokens)"
    messages = data.get("messages")
    for message in messages if isinstance(messages, list) else [{"content": data.get("prompt")}]:
        if isinstance(message, dict):
            yield from _block(str(message.get("role", "prompt")), message.get("content"))


def _response(data: dict[str, Any]) -> Iterator[str]:
    yield from _block("<- model", data.get("text"))
    if data.get("scores"):
        yield f"{_INDENT}scores {_json(data['scores'])}"


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
    yield from _block("summary", data.get("summary"))


def _failed(data: dict[str, Any]) -> Iterator[str]:
    yield f"error ({data.get('kind')}): {data.get('message')}"


def _ended(data: dict[str, Any]) -> Iterator[str]:
    yield f"end: {data.get('status')} ({data.get('stop_reason')})"
    if data.get("error"):
        yield f"{_INDENT}{data['error']}"


def _recovered(data: dict[str, Any]) -> Iterator[str]:
    yield f"recovered: {data.get('bytes')} bytes moved to {data.get('quarantine')}"


def _job(data: dict[str, Any]) -> Iterator[str]:
    yield f"job {data.get('agent_id')} {data.get('node_id')} {data.get('status', 'starts')}"


def _nothing(_: dict[str, Any]) -> Iterator[str]:
    yield from ()


_PARAGRAPHS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "agent_start": _started,
    "turn_start": _nothing,
    "context_update": _context,
    "model_request": _request,
    "model_response": _response,
    "tool_call": _call,
    "tool_result": _result,
    "submit_result": _submitted,
    "agent_error": _failed,
    "agent_end": _ended,
    "recovered": _recovered,
    "job_start": _job,
    "job_end": _job,
}


def _block(title: str, text: Any) -> Iterator[str]:
    yield f"{title}:"
    shown = text if isinstance(text, str) else _json(text)
    yield from (_INDENT + line for line in shown.split("\n"))


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return "(nested too deeply)"
