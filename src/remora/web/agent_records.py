"""The record of an agent, which is read again for each request."""

from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_records
from remora.errors import NotFound, RemoraError, StreamError
from remora.memory.events import AgentStart, Event
from remora.memory.packet import DecisionPacket
from remora.runs.diagnosis.why_line import Diagnosis, why
from remora.runs.project import ProjectRecords
from remora.statuses import DAMAGED, RUNNING, WITHOUT_RESULT
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import DecisionState, each_decision, turn_of_events
from remora.trace.read.blobs import payload_without_values, resolved_data
from remora.trace.read.reader import (
    event_data,
    invalid_event,
    open_stream,
    read_events,
    stream_status,
)
from remora.trace.read.turn_positions import last_turn, turn_lines
from remora.web.turn_rows import RecordedLine, TurnRow, read_line, turn_row, turn_rows

ROWS = 100
"""Rows of turns that are read at a time."""
TURNS = 20
"""Turns that are sent at a time. A job has up to 12, unless its agent says otherwise."""
_LARGE = 4_000_000
_TOO_DEEP = "the event's data is nested too deeply to show"


class AgentRecord:
    """An agent's stream, read turn by turn."""

    def __init__(self, project: ProjectRecords, agent_id: str, path: Path) -> None:
        self.project = project
        self.agent_id = agent_id
        self.path = path
        self.decisions: dict[int, DecisionState] | None = None  # until `read_packets` is called
        self._problem: RemoraError | None = None

    @cached_property
    def is_large(self) -> bool:
        """True if reading the whole stream takes too long for the first look."""
        with open_stream(self.path) as source:
            return source.size() > _LARGE

    @cached_property
    def last_turn(self) -> int:
        """The number of the last turn, read from the stream's end."""
        return last_turn(self.path)

    @cached_property
    def status(self) -> str:
        """The status of the agent: `damaged` if the end of the stream is not an event."""
        try:
            return stream_status(self.path)
        except RemoraError:
            return DAMAGED

    @cached_property
    def first(self) -> Event | None:
        """The first readable event, or None."""
        lines = (read_line(line) for _, line in turn_lines(self.path, 0, 1))
        return next((line.event for line in lines if line.event is not None), None)

    @cached_property
    def start(self) -> dict[str, Any]:
        """The data of `agent_start`, or nothing if it cannot be read."""
        with suppress(RemoraError):
            if self.first is not None and self.first.type == AgentStart.type:
                _check(self.first, self.project.trace.blobs)
                return event_data(self.first)
        return {}

    @cached_property
    def most_turns(self) -> int | None:
        """The number of turns that the agent may take, or None if it was not recorded."""
        most = (self.start.get("definition") or {}).get("max_turns")
        return most if isinstance(most, int) else None

    @cached_property
    def has_failed(self) -> bool:
        """True if something went wrong: the agent failed, or its change conflicts with the user's.

        Of a large stream, only the end is read, which does not have the conflict.
        """
        return self.status in (*WITHOUT_RESULT, DAMAGED) or self.has_conflict

    @property
    def turn_to_show(self) -> int:
        """The turn to look at first: of a failed agent, the one with the cause or the last error.

        The cause in a large stream takes too long for the first look.
        """
        last = self.last_turn
        if self.status == RUNNING:
            return last
        if not self.has_failed:
            return min(1, last)
        if not self.is_large:
            with suppress(RemoraError):
                return self.diagnosis.look_at
        rows = [*self.rows(max(0, last - ROWS), ROWS + 1)]
        return next((row.turn for row in reversed(rows) if row.error or row.unreadable), last)

    @cached_property
    def has_conflict(self) -> bool:
        """True if the agent's change set could not be merged with the user's files."""
        with suppress(RemoraError):
            return not self.is_large and self.diagnosis.cause.kind == "conflict"
        return False

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Why the agent failed.

        Raises StreamDamaged if its stream is empty or damaged, and StreamError if it is nested too
        deeply.
        """
        try:
            return why(self.project.trace, self.agent_id)
        except RecursionError as error:
            raise StreamError(_TOO_DEEP) from error

    def rows(self, first: int = 0, number: int | None = ROWS) -> Iterator[TurnRow]:
        """Yield the rows of `number` turns, or of all, from the turn `first` or the next one on."""
        return turn_rows(turn_lines(self.path, first, number))

    def turns(self, first: int, number: int | None = TURNS) -> "list[TurnRecord]":
        """Return `number` turns, or all, from the turn `first` or the next one on."""
        groups = groupby(turn_lines(self.path, first, number), key=itemgetter(0))
        return [
            TurnRecord(self, turn, [read_line(line) for _, line in group]) for turn, group in groups
        ]

    def turn(self, turn: int) -> "TurnRecord":
        """Return a turn. Raises NotFound if there is none with this number."""
        found = self.turns(turn, 1)
        if not found or found[0].turn != turn:
            raise NotFound(
                f"{self.agent_id} has no turn {turn}", hint=f"its turns are 0 to {self.last_turn}"
            )
        return found[0]

    def read_packets(self, turns: Container[int], last: int) -> None:
        """Read the packets of these turns in one pass over the stream, up to the turn `last`."""
        self.decisions = {}
        try:
            for turn, state in each_decision(read_events(self.path)):
                if turn in turns:
                    self.decisions[turn] = state
                if turn >= last:
                    return
        except RemoraError as error:
            self._problem = error

    def packet(self, turn: int, *, shown: bool = True) -> DecisionPacket:
        """Return a packet that was read, with what the budget dropped if `shown` is False.

        Raises NotFound if it was not read, and StreamDamaged if a line before it is damaged.
        """
        if state := (self.decisions or {}).get(turn):
            return state.shown() if shown else state.packet
        raise self._problem or NotFound(f"{self.agent_id} has no turn {turn}")


def open_agent(invocation: Invocation, agent_id: str) -> AgentRecord:
    """Return an agent's record. Raises NotFound if there is no such agent."""
    project = open_records(invocation)
    path = project.trace.existing_agent(agent_id)
    project.trace.refresh(path)
    return AgentRecord(project, agent_id, path)


class TurnRecord:
    """A turn of an agent: its lines."""

    def __init__(self, agent: AgentRecord, turn: int, lines: list[RecordedLine]) -> None:
        self.agent = agent
        self.turn = turn
        self.lines = lines
        events = (line.event for line in lines if line.event is not None)
        self.events = turn_of_events(turn, events)

    @property
    def row(self) -> TurnRow:
        """The row of the turn."""
        return turn_row(self.turn, self.lines)

    def data(self, events: Iterable[Event]) -> list[dict[str, Any]]:
        """Return the data of events, with texts that are stored elsewhere.

        A text that is missing stays a reference. Events with invalid data are left out.
        """
        found = []
        for event in events:
            with suppress(RemoraError):
                _check(event, self.agent.project.trace.blobs)
                found.append(self._resolved_or_recorded(event))
        return found

    def resolved(self, event: Event) -> dict[str, Any]:
        """Return the data of an event, with texts that are stored elsewhere.

        Raises StreamDamaged if the data is invalid, StreamError if it is nested too deeply, and
        whatever reading a stored text raises.
        """
        blobs = self.agent.project.trace.blobs
        _check(event, blobs)
        try:
            return resolved_data(event, blobs)
        except RecursionError as error:
            raise StreamError(_TOO_DEEP) from error

    def is_exact(self, _event: Event) -> bool:
        """Return True if `resolved` returns what was recorded.

        Subclasses that remove secrets override it.
        """
        return True

    def content(self, digest: str) -> bytes:
        """Return the content of a file that the turn changed. Raises NotFound or DiskError."""
        return self.agent.project.trace.objects.get(digest)

    def _resolved_or_recorded(self, event: Event) -> dict[str, Any]:
        try:
            return self.resolved(event)
        except RemoraError:
            return event_data(event)


def _check(event: Event, blobs: ObjectStore) -> None:
    """Raise StreamDamaged if an event's data does not match its type, whatever its stored texts."""
    try:
        with suppress(RemoraError):  # a text is missing
            payload_without_values(event, blobs)
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error
