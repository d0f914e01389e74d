"""The row of each turn: its call, who decided, the outcome, tokens and time."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from remora.errors import StreamDamaged
from remora.memory.canonical import json_text
from remora.memory.events import Event, decode_event
from remora.text import clip
from remora.trace.content.line_format import Line
from remora.trace.read.agent_turns import AgentTurn, CheckData, EventData, turn_of_events
from remora.trace.read.reader import decode_part

_CALL = 160


class RecordedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a stream."""

    number: int
    raw: bytes
    event: Event | None
    """The line's event, or None if the line is not an event."""


class TurnRow(msgspec.Struct, kw_only=True):
    """Row of a turn in a list."""

    turn: int
    call: str = ""
    decided_by: str = ""
    outcome: str = ""
    """The recorded outcome, which may be any word in a stream of another program.

    It is `failed` if the agent failed in this turn although the tool did not.
    """
    error: str = ""
    requests: int = 0
    prompt_tokens: int = 0
    """The tokens of the largest prompt."""
    trimmed: int = 0
    """The number of steps in which the packet was trimmed."""
    model_ms: int = 0
    """The time from each request to its answer."""
    tool_ms: int = 0
    changed_files: int = 0
    unreadable: int | None = None
    """The number of the first line that is not an event."""

    @property
    def has_failed(self) -> bool:
        """True if the turn has an error or cannot be read."""
        return self.unreadable is not None or bool(self.error) or self.outcome == "error"


def read_line(line: Line) -> RecordedLine:
    """Return a line with its event."""
    try:
        event = decode_event(line.raw)
    except (ValueError, RecursionError):
        event = None
    return RecordedLine(number=line.number, raw=line.raw, event=event)


def turn_rows(lines: Iterable[tuple[int, Line]]) -> Iterator[TurnRow]:
    """Yield a row for each turn of the lines."""
    for number, group in groupby(lines, key=lambda pair: pair[0]):
        yield turn_row(number, [read_line(line) for _, line in group])


def turn_row(number: int, lines: list[RecordedLine]) -> TurnRow:
    """Return the row of a turn."""
    turn = turn_of_events(number, (line.event for line in lines if line.event is not None))
    data = _Data(lines)
    row = TurnRow(turn=number, model_ms=sum(step.milliseconds for step in turn.requests))
    if turn.start is not None:
        row.call, row.outcome = "start", "success"
    for asked in data.of(step.event for step in turn.requests):
        row.requests += 1
        row.prompt_tokens = max(row.prompt_tokens, asked.prompt_tokens)
        row.trimmed = asked.trim or 0
    row.decided_by = "escalation" if turn.escalations else ""
    for called in data.of(step.event for step in turn.calls):
        named = ", ".join(f"{name}={json_text(value)}" for name, value in called.args.items())
        row.decided_by, row.call = called.decided_by, clip(f"{called.tool}({named})", _CALL)
    _add_outcome(row, turn, data)
    row.unreadable = min(data.unreadable, default=None)
    return row


def _add_outcome(row: TurnRow, turn: AgentTurn, data: "_Data") -> None:
    for result in data.of(turn.results):
        row.outcome, row.tool_ms = result.outcome, result.duration_ms
        row.changed_files, row.error = len(result.changes), _short(result.error)
    for submitted in data.of(turn.submissions):
        if not submitted.verified:
            failed = next((check for check in submitted.checks if not check.ok), CheckData())
            row.outcome = "error"
            row.error = f"refused by the check {failed.name}: {_short(failed.detail)}"
    for failure in data.of(turn.errors):
        row.outcome, row.error = "error", f"{failure.kind}: {_short(failure.message)}"
    for end in data.of([turn.end] if turn.end is not None else []):
        if end.error and not row.error:
            row.outcome, row.error = "failed", _short(end.error)


class _Data:
    """Reads the data of events. `unreadable` has the numbers of the lines that cannot be read."""

    def __init__(self, lines: list[RecordedLine]) -> None:
        self._lines = lines
        self.unreadable = [line.number for line in lines if line.event is None]

    def of(self, events: Iterable[Event]) -> Iterator[EventData]:
        """Yield the data of each event that can be read."""
        for event in events:
            try:
                yield decode_part(event, EventData)
            except StreamDamaged:
                self.unreadable += [line.number for line in self._lines if line.event is event]


def _short(text: Any) -> str:
    lines = str(text or "").split("\n")
    return clip(" ".join(line.strip() for line in lines if line.strip()), _CALL)
