"""The turns of an agent as rows, one for each call, read from its stream."""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remora.errors import RemoraError
from remora.memory.events import (
    AgentError,
    AgentStart,
    Event,
    ModelRequest,
    ToolCalled,
    ToolResulted,
)
from remora.trace.content.line_format import complete_lines
from remora.trace.read.reader import open_stream, parse_event
from remora.trace.search.keys import TraceKey
from remora.trace.trace_folder import stream_id


class TurnMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A matching turn.

    `key` is the key of its trace entry, or None if the turn has no result. `call` is the number of
    the result within the turn, starting at 1. `outcome` is the outcome of the result. For a turn
    without a result, `outcome` is `error` if the turn ended with an error, and empty otherwise.
    `ms` is the tool's duration in milliseconds. `began` and `ended` are the times of the turn's
    first and last event.
    """

    turn: int
    call: int
    tool: str
    outcome: str
    decided_by: str
    prompt_tokens: int | None
    ms: int | None
    began: str
    ended: str
    key: str | None = None


class TurnRow(NamedTuple):
    """A call in a turn. A turn without a result has one row, whose `seq` is None."""

    match: TurnMatch
    seq: int | None


class AgentTurns(msgspec.Struct, kw_only=True):
    """The rows of a stream. `attempt` and `started` determine which agent of a job is newer."""

    path: Path
    agent_id: str
    job: tuple[str, str, str]
    started: str
    attempt: int = 1
    rows: list[TurnRow] = []

    @property
    def age(self) -> tuple[int, str, str]:
        return self.attempt, self.started, self.agent_id

    def key(self, match: TurnMatch) -> TraceKey:
        """Return the key of a row's entry for this agent alone."""
        run_id, operation, node_id = self.job
        return TraceKey(
            run_id=run_id, operation=operation, node_id=node_id,
            turn=match.turn, call=match.call, agent_id=self.agent_id,
        )  # fmt: skip


def job_of(event: Event) -> tuple[str, str, str]:
    """Return the run, operation and node of an event."""
    return event.run_id, event.operation, event.node_id


def read_turns(path: Path) -> AgentTurns | None:
    """Return the rows of a stream, up to the first line that is not an event of its agent.

    Returns None if there is no such event.
    """
    found: AgentTurns | None = None
    turn: _Turn | None = None
    with suppress(RemoraError), open_stream(path) as source:
        for line in complete_lines(source):
            event = parse_event(line.raw, line.number, path)
            found = found or AgentTurns(
                path=path, agent_id=stream_id(path), job=job_of(event), started=event.timestamp
            )
            named = (event.agent_id, event.seq, job_of(event))
            if named != (found.agent_id, line.number - 1, found.job):
                break
            if turn is None or event.turn > turn.number:
                found.rows += turn.rows(found) if turn else []
                turn = _Turn(event)
            turn.take(event)
            if event.type == AgentStart.type:
                found.attempt = _number(_data(event).attempt) or found.attempt
    if found is None or turn is None:
        return None
    found.rows += turn.rows(found)
    return found


class _Data(msgspec.Struct):
    """The fields of event data that rows need. A long string may be a blob reference."""

    tool: Any = None
    outcome: Any = None
    decided_by: Any = None
    prompt_tokens: Any = None
    duration_ms: Any = None
    attempt: Any = None


class _Turn:
    """The current turn of a stream."""

    def __init__(self, event: Event) -> None:
        self.number = event.turn
        self._began = self._ended = event.timestamp
        self._facts: dict[str, Any] = {"tool": "", "outcome": "", "decided_by": ""}
        self._facts |= {"prompt_tokens": None, "ms": None}
        self._results: list[tuple[int | None, dict[str, Any]]] = []

    def take(self, event: Event) -> None:
        """Add the next event. One with a lower turn only changes its end."""
        self._ended = event.timestamp
        if event.turn != self.number:
            return
        match event.type:
            case ToolResulted.type:
                data = _data(event)
                result = {"outcome": _word(data.outcome), "ms": _number(data.duration_ms)}
                self._results.append((event.seq, self._facts | {"tool": _word(data.tool)} | result))
            case ToolCalled.type:
                data = _data(event)
                self._facts |= {"tool": _word(data.tool), "decided_by": _word(data.decided_by)}
            case ModelRequest.type:
                self._facts["prompt_tokens"] = _number(_data(event).prompt_tokens)
            case AgentError.type:
                self._facts["outcome"] = "error"

    def rows(self, agent: AgentTurns) -> list[TurnRow]:
        """Return a row for each result, or a single row if the turn has no result."""
        found = []
        for call, (seq, facts) in enumerate(self._results or [(None, self._facts)], 1):
            match = TurnMatch(
                turn=self.number, call=call, began=self._began, ended=self._ended, **facts
            )
            if seq is not None:
                match = msgspec.structs.replace(match, key=str(agent.key(match)))
            found.append(TurnRow(match, seq))
        return found


def _data(event: Event) -> _Data:
    """Return the data of an event, or nothing if it cannot be read: `verify` reports it."""
    with suppress(ValueError, RecursionError):
        return msgspec.json.decode(event.data, type=_Data)
    return _Data()


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
