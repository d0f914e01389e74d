"""The row of each turn: its call, who decided, the outcome, tokens and time."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec

from remora.errors import StreamDamaged
from remora.memory.canonical import json_text
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    Escalation,
    Event,
    ModelRequest,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    decode_event,
)
from remora.text import clip
from remora.trace.content.line_format import Line
from remora.trace.read.reader import decode_part

_CALL = 160
_STATES = {state: state for state in ("error", "partial", "success")}


class RecordedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a stream. `event` is None if the line is not an event."""

    number: int
    raw: bytes
    event: Event | None


class TurnRow(msgspec.Struct, kw_only=True):
    """What a list shows of a turn.

    `outcome` is the recorded one, which may be any word in a stream of another program. It is
    `failed` if the agent failed in this turn although the tool did not.
    `trimmed` is the number of steps in which the packet was trimmed, and `model_ms` the time from
    each request to its answer. `unreadable` is the number of the first line that is not an event.
    """

    turn: int
    call: str = ""
    decided_by: str = ""
    outcome: str = ""
    error: str = ""
    requests: int = 0
    prompt_tokens: int = 0
    trimmed: int = 0
    asked: str = ""
    model_ms: int = 0
    tool_ms: int = 0
    changed_files: int = 0
    unreadable: int | None = None

    @property
    def state(self) -> str:
        """One word for the colour of a row: `error`, `partial`, `success`, `open` or `damaged`."""
        if self.unreadable is not None:
            return "damaged"
        return "error" if self.error else _STATES.get(self.outcome, "open")


def read_line(line: Line) -> RecordedLine:
    """Return a line with its event."""
    try:
        event = decode_event(line.raw)
    except (ValueError, RecursionError):
        event = None
    return RecordedLine(number=line.number, raw=line.raw, event=event)


def turn_rows(lines: Iterable[tuple[int, Line]]) -> Iterator[TurnRow]:
    """Yield a row for each turn of the lines."""
    for turn, group in groupby(lines, key=lambda pair: pair[0]):
        row = TurnRow(turn=turn)
        for _, line in group:
            _add(row, read_line(line))
        yield row


def _add(row: TurnRow, line: RecordedLine) -> None:
    event = line.event
    if event is None:
        row.unreadable = row.unreadable or line.number
        return
    kind = _PARTS.get(event.type)
    _add_waiting(row, event)
    if kind is None:
        return
    try:
        part = decode_part(event, kind)
    except StreamDamaged:
        row.unreadable = row.unreadable or line.number
        return
    part.show_in(row)


def _add_waiting(row: TurnRow, event: Event) -> None:
    """Add the time from a request to what follows it: its answer, or an error."""
    if row.asked:
        with suppress(ValueError, TypeError):  # a time that no run of ours has written
            asked, answered = map(datetime.fromisoformat, (row.asked, event.timestamp))
            row.model_ms += round((answered - asked).total_seconds() * 1000)
    row.asked = event.timestamp if event.type == ModelRequest.type else ""


class _Started(msgspec.Struct):
    def show_in(self, row: TurnRow) -> None:
        row.call, row.outcome = "start", "success"


class _Asked(msgspec.Struct):
    prompt_tokens: int = 0
    trim: int = 0

    def show_in(self, row: TurnRow) -> None:
        row.requests += 1
        row.prompt_tokens = max(row.prompt_tokens, self.prompt_tokens)
        row.trimmed = self.trim


class _Called(msgspec.Struct):
    tool: str = ""
    args: dict[str, Any] = {}
    decided_by: str = ""

    def show_in(self, row: TurnRow) -> None:
        named = ", ".join(f"{name}={json_text(value)}" for name, value in self.args.items())
        row.decided_by = self.decided_by
        row.call = clip(f"{self.tool}({named})", _CALL)


class _Resulted(msgspec.Struct):
    outcome: str = ""
    error: Any = None
    duration_ms: int = 0
    changes: list[msgspec.Raw] = []

    def show_in(self, row: TurnRow) -> None:
        row.outcome, row.tool_ms = self.outcome, self.duration_ms
        row.changed_files = len(self.changes)
        row.error = _short(self.error)


class _Failed(msgspec.Struct):
    kind: str = ""
    message: Any = ""

    def show_in(self, row: TurnRow) -> None:
        row.outcome, row.error = "error", f"{self.kind}: {_short(self.message)}"


class _Check(msgspec.Struct):
    name: str = ""
    ok: bool = False
    detail: Any = None


class _Submitted(msgspec.Struct):
    verified: bool = False
    checks: list[_Check] = []

    def show_in(self, row: TurnRow) -> None:
        if not self.verified:
            failed = next((check for check in self.checks if not check.ok), _Check())
            row.outcome = "error"
            row.error = f"refused by the check {failed.name}: {_short(failed.detail)}"


class _Escalated(msgspec.Struct):
    reason: str = ""

    def show_in(self, row: TurnRow) -> None:
        row.decided_by = "escalation"


class _Ended(msgspec.Struct):
    error: Any = None

    def show_in(self, row: TurnRow) -> None:
        if self.error and not row.error:
            row.outcome, row.error = "failed", _short(self.error)


def _short(text: Any) -> str:
    lines = str(text or "").split("\n")
    return clip(" ".join(line.strip() for line in lines if line.strip()), _CALL)


_PARTS: dict[str, type[Any]] = {
    AgentStart.type: _Started,
    ModelRequest.type: _Asked,
    ToolCalled.type: _Called,
    ToolResulted.type: _Resulted,
    AgentError.type: _Failed,
    SubmitResult.type: _Submitted,
    Escalation.type: _Escalated,
    AgentEnd.type: _Ended,
}
"""The part of each event's data that a row shows."""
