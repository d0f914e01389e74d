"""The tabs *Prompt*, *Candidates*, *Files* and *Events*: what was sent, offered, changed and recorded."""

from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

from remora.errors import NotFound, RemoraError, StreamDamaged
from remora.ids import unescape_path
from remora.memory.packet import Candidate
from remora.text import clip
from remora.trace.read.agent_turns import Step
from remora.trace.read.event_summary import summarize_event
from remora.web.agent_records import TurnRecord
from remora.web.turn_rows import RecordedLine
from remora.workspaces.copy.changes import diff

_SHOWN = 20_000
"""Characters of a line that are shown."""


def prompt(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
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


def candidates(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the candidates of the turn and its decision."""
    calls = turn.data(step.event for step in turn.events.calls)
    call = calls[-1] if calls else None
    problem, offered = "", tuple[Candidate, ...]()
    try:
        offered = turn.packet().candidate_actions
    except (StreamDamaged, NotFound) as error:
        problem = error.with_hint
    choice = call.get("choice") if call else None
    rows = [
        {"number": number + 1, "candidate": candidate, "is_chosen": number == choice}
        for number, candidate in enumerate(offered)
    ]
    return {"call": call, "rows": rows, "problem": problem}


def files(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the files that the turn changed, each with its diff or what prevents it."""
    changes = [
        change for result in turn.data(turn.events.results) for change in result.get("changes", [])
    ]
    return {"files": [_file(turn, change) for change in changes]}


def _file(turn: TurnRecord, change: dict[str, Any]) -> dict[str, Any]:
    text = problem = ""
    try:
        before, after = (_content(turn, change.get(key)) for key in ("before", "after"))
        path = unescape_path(str(change.get("path")))
        text = diff(path, before, after, mode=change.get("mode"))
    except RemoraError as error:
        problem = error.with_hint
    return {"path": change.get("path"), "diff": text, "problem": problem}


def _content(turn: TurnRecord, digest: str | None) -> bytes | None:
    return None if digest is None else turn.content(digest)


def events(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
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
