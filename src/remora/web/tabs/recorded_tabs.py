"""The tabs *Prompt* and *Events*: what was sent and recorded."""

from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

from remora.text import clip
from remora.trace.read.agent_turns import Step
from remora.trace.read.event_summary import summarize_event
from remora.web.agent_records import TurnRecord
from remora.web.turn_rows import RecordedLine

_SHOWN = 20_000
"""Characters of a line that are shown."""


def prompt(turn: TurnRecord) -> dict[str, Any]:
    """Return the requests of the turn, each with its answer."""
    return {"pairs": [_pair(turn, step) for step in turn.events.requests]}


def _pair(turn: TurnRecord, step: Step) -> dict[str, Any]:
    request = turn.resolved(step.event)
    answer = None if step.reply is None else turn.resolved(step.reply)
    usage = (answer or {}).get("usage") or {}
    sent = sent_bytes(request)
    tools = (request.get("decoding") or {}).get("tools")
    return {
        "request": request,
        "sha256": sha256(sent).hexdigest() if turn.is_exact(step.event) else "",
        "size": len(sent),
        "tools_size": len(msgspec.json.encode(tools)) if tools else 0,
        "answer": answer,
        "usage": {key: number for key, number in usage.items() if number is not None},
    }


def sent_bytes(request: dict[str, Any]) -> bytes:
    """Return a prompt as it was sent: the text, or the messages as JSON."""
    if request.get("prompt") is not None:
        return str(request["prompt"]).encode("utf-8", "surrogatepass")
    return msgspec.json.encode(request.get("messages"))


def events(turn: TurnRecord) -> dict[str, Any]:
    """Return the lines of the turn."""
    return {"lines": [_line(line) for line in turn.lines]}


def _line(line: RecordedLine) -> dict[str, Any]:
    event = line.event
    return {
        "number": line.number,
        "seq": event.seq if event is not None else None,
        "size": len(line.raw),
        "type": event.type if event is not None else "",
        "time": event.timestamp if event is not None else "",
        "hash": event.hash if event is not None else "",
        "summary": summarize_event(event) if event is not None else "",
        "text": _formatted(line.raw),
    }


def _formatted(raw: bytes) -> str:
    """Return a line as indented JSON, or as it is if it is not JSON or is long."""
    if len(raw) <= _SHOWN:
        with suppress(ValueError, RecursionError):
            raw = msgspec.json.format(raw)
    return clip(raw.decode("utf-8", "backslashreplace"), _SHOWN)
