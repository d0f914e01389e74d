"""An agent's record for other people: without secrets.

Streams are redacted when they are written, but by the rules of that time, and stored file contents
never are.
"""

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from remora.errors import NotFound, RemoraError
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.runs.diagnosis.why_line import Diagnosis
from remora.runs.project import Project
from remora.trace.read.reader import read_events
from remora.trace.read.state_at import DecisionState, each_decision
from remora.trace.redact.redactor import Redactor
from remora.trace.trace_folder import stream_id
from remora.web.agent_records import ROWS, AgentRecord, TurnRecord
from remora.web.turn_rows import TurnRow

_T = TypeVar("_T")


class SharedAgent(AgentRecord):
    """An agent's stream without secrets."""

    def __init__(self, project: Project, path: Path) -> None:
        super().__init__(project, stream_id(path), path)
        self.redact = project.redact
        self._states: dict[int, DecisionState] = {}
        self._problem: RemoraError | None = None

    @cached_property
    def is_large(self) -> bool:
        """False: a share file takes the time to read the whole stream."""
        return False

    @cached_property
    def every_row(self) -> list[TurnRow]:
        """The rows of all turns."""
        return [redacted(row, self.redact) for row in super().rows(0, None)]

    def read_packets(self, turns: Collection[int]) -> None:
        """Read the packets of these turns in one pass over the stream."""
        try:
            for turn, state in each_decision(read_events(self.path)):
                if turn in turns:
                    self._states[turn] = state
        except RemoraError as error:
            self._problem = error

    def packet(self, turn: int, *, shown: bool) -> DecisionPacket:
        """Return a packet that was read. Raises StreamDamaged if a line before it is damaged."""
        if turn in self._states:
            state = self._states[turn]
            return redacted(state.shown() if shown else state.packet, self.redact)
        raise self._problem or NotFound(f"{self.agent_id} has no turn {turn}")

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Why the agent failed."""
        return redacted(super().diagnosis, self.redact)

    def rows(self, first: int = 0, number: int | None = ROWS) -> Iterator[TurnRow]:
        """Yield the rows of `number` turns, or of all, from the turn `first` or the next one on."""
        return islice((row for row in self.every_row if row.turn >= first), number)

    @cached_property
    def start(self) -> dict[str, Any]:
        """The data of `agent_start`, or nothing if it cannot be read."""
        return self.redact.clean(super().start)

    def turn(self, turn: int) -> "SharedTurn":
        """Return a turn. Raises NotFound if there is none with this number."""
        return SharedTurn(self, turn, super().turn(turn).lines)


class SharedTurn(TurnRecord):
    """A turn without secrets."""

    agent: SharedAgent

    def whole(self, event: Event) -> dict[str, Any]:
        """Return the data of an event, with texts that are stored elsewhere."""
        return self.agent.redact.clean(super().whole(event))

    def is_exact(self, event: Event) -> bool:
        """Return True if `whole` returns what was recorded, which has no secrets."""
        data = super().whole(event)
        return self.agent.redact.clean(data) is data

    def content(self, digest: str) -> bytes:
        """Return the content of a file that the turn changed."""
        return self.agent.redact.data(super().content(digest))

    def packet(self, turn: int | None = None, *, shown: bool = True) -> DecisionPacket:
        """Return the packet that was shown in this turn, or in another one."""
        number = self.turn if turn is None else turn
        return self.agent.packet(number, shown=shown)

    def _resolved(self, event: Event) -> dict[str, Any]:
        return self.agent.redact.clean(super()._resolved(event))


def redacted(record: _T, redact: Redactor) -> _T:
    """Return a record without secrets."""
    values = msgspec.to_builtins(record)
    clean = redact.clean(values)
    return record if clean is values else msgspec.convert(clean, type(record))
