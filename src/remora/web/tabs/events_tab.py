"""The tab *Events*: the recorded lines of the turn."""

from contextlib import suppress
from typing import Any

import msgspec

from remora.runs.records.event_summary import summarize_event
from remora.text import clip
from remora.web.agent_records import TurnRecord
from remora.web.turn_rows import RecordedLine

_SHOWN = 20_000
"""Characters of a line that are shown."""


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
