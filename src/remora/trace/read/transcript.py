"""Human-readable transcript of a stream, with its requests, answers, decisions and results."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from remora.memory.events import Event
from remora.text import escape_line
from remora.trace.read.event_summary import event_text

_INDENT = "    "
_SHOWN = 400
"""Maximum characters of a tool's raw output; requests and answers are shown in full."""


def transcript(events: Iterable[Event]) -> Iterator[str]:
    """Yield the lines of the transcript, without newlines. Events with invalid data are also
    accepted.
    """
    turn = 0
    for event in events:
        if event.turn != turn:
            yield ""
            yield f"== turn {event.turn} =="
        yield from map(escape_line, _plain_lines(event))
        turn = event.turn


def _plain_lines(event: Event) -> Iterator[str]:
    """Yield the lines of an event, not yet escaped for a terminal."""
    try:
        data = msgspec.json.decode(event.data)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        yield f"[{event.type}] (unreadable data)"
        return
    if event.type not in _WITHOUT_TEXT:
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
_WITHOUT_TEXT = frozenset({"turn_start", "model_request", "model_response"})
"""Events of which the transcript shows only the turn, or the whole text."""


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
