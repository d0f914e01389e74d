"""A stream's lines, one after another, to the rows that the index holds of it."""

from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from remora.errors import RemoraError
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    GENESIS,
    VERSION,
    AgentError,
    AgentStart,
    ModelRequest,
    ToolCalled,
    ToolResulted,
    decode_event,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.memory.upcast import lifted
from remora.trace.content.line_format import Line
from remora.trace.index.rows import Place, Snapshot, StreamRow, TurnRow, pack
from remora.trace.read.state_at import start_packet

SPACING = 128 * 1024
"""The fewest bytes of a stream between two snapshots."""
_SHARE = 8
"""How many times a snapshot's size the stream must grow before the next one."""


_Hash = Annotated[str, msgspec.Meta(min_length=64, max_length=64)]
_Turns = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Data(msgspec.Struct, gc=False):
    """What rows need of any event's data; a long text may stand as a blob's reference."""

    tool: Any = None
    outcome: Any = None
    decided_by: Any = None
    prompt_tokens: Any = None
    duration_ms: Any = None
    attempt: Any = None


class _Bare(msgspec.Struct, gc=False):
    """An event without its data, which is skipped: that is most of a stream's bytes."""

    v: int
    seq: int
    timestamp: str
    agent_id: str
    turn: _Turns
    type: str
    packet_delta: PacketDelta | None
    hash: _Hash


class _Light(_Bare, gc=False):
    """An event with what rows need of it."""

    data: _Data


class _Whose(msgspec.Struct):
    run_id: str
    operation: str
    node_id: str


class _Result(msgspec.Struct, frozen=True, gc=False):
    place: Place
    tool: str
    outcome: str
    decided_by: str
    prompt_tokens: int | None
    ms: int | None


class _Turn(msgspec.Struct):
    """The turn that the stream is in."""

    turn: int
    begin: int
    began: str
    ended: str
    tool: str = ""
    outcome: str = ""
    decided_by: str = ""
    prompt_tokens: int | None = None
    results: list[_Result] = []

    def rows(self, end: int | None) -> list[TurnRow]:
        """A row for each result, or one that has none."""
        if not self.results:
            return [self._row(1, None, end)]
        return [self._row(call, result, end) for call, result in enumerate(self.results, 1)]

    def _row(self, call: int, result: _Result | None, end: int | None) -> TurnRow:
        said = self if result is None else result
        return TurnRow(
            turn=self.turn,
            call=call,
            tool=said.tool,
            outcome=said.outcome,
            decided_by=said.decided_by,
            prompt_tokens=said.prompt_tokens,
            ms=None if result is None else result.ms,
            began=self.began,
            ended=self.ended,
            begin=self.begin,
            end=end,
            place=None if result is None else result.place,
        )


_LIGHT = msgspec.json.Decoder(_Light)
_WHOSE = msgspec.json.Decoder(_Whose)
_BARE = msgspec.json.Decoder(_Bare)
_NOTHING: tuple[list[TurnRow], Snapshot | None] = ([], None)
_TOLD = frozenset(
    {AgentStart.type, ModelRequest.type, ToolCalled.type, ToolResulted.type, AgentError.type}
)


class Reading(msgspec.Struct, kw_only=True):
    """A stream read up to byte `size`; it goes on from there, and can be stored meanwhile.

    `fault` is the number of a line that is no event of this stream, 0 while there is none; what
    is behind one is not read. `closed` counts rows of turns that are over. Without `folds` no
    packets are kept.
    """

    agent_id: str
    folds: bool = True
    stream: StreamRow | None = None
    size: int = 0
    count: int = 0
    hash: str = GENESIS
    fault: int = 0
    closed: int = 0
    turn: _Turn | None = None
    packet: DecisionPacket | None = None
    snapped: int = 0
    spacing: int = 0

    def take(self, line: Line) -> tuple[list[TurnRow], Snapshot | None]:
        """Read the next line: the rows of the turn that it ends, and a packet to keep."""
        event = self._event(line)
        if event is None:
            self.fault = line.number
            return _NOTHING
        now, closed = self.turn, _NOTHING
        if now is None or event.turn > now.turn:
            closed = self._enter(event, line.offset)
        else:
            now.ended = event.timestamp
        if event.type in _TOLD and isinstance(event, _Light):
            self._note(event, line)
        if self.folds:
            self._fold(event, line)
        self.size, self.count, self.hash = line.offset + line.size + 1, line.number, event.hash
        return closed

    def open_rows(self) -> list[TurnRow]:
        """The rows of the turn that the stream is in, as they are so far."""
        return self.turn.rows(None) if self.turn else []

    def is_behind(self, turn: int | None) -> bool:
        """Whether all of a turn was read; never for None."""
        return turn is not None and self.turn is not None and self.turn.turn > turn

    def stop_folding(self) -> None:
        """No more packets of this stream: who asks for one is told why."""
        self.folds, self.packet = False, None

    def _event(self, line: Line) -> _Bare | None:
        try:
            event, raw = _decoded(line.raw)
            if event.agent_id != self.agent_id or event.seq != line.number - 1:
                return None
            if self.stream is None:
                self._begin(event, _WHOSE.decode(raw))
        except (ValueError, RecursionError):
            return None
        return event

    def _begin(self, event: _Bare, whose: _Whose) -> None:
        self.stream = StreamRow(
            agent_id=self.agent_id,
            run_id=whose.run_id,
            operation=whose.operation,
            node_id=whose.node_id,
            attempt=1,
            started=event.timestamp,
        )

    def _enter(self, event: _Bare, offset: int) -> tuple[list[TurnRow], Snapshot | None]:
        """The event's turn becomes the one that the stream is in."""
        closed = self.turn.rows(offset) if self.turn else []
        self.closed += len(closed)
        self.turn = _Turn(event.turn, offset, event.timestamp, event.timestamp)
        return closed, self._snapshot(event.turn, offset)

    def _snapshot(self, turn: int, offset: int) -> Snapshot | None:
        if self.packet is None or offset - self.snapped < max(SPACING, self.spacing):
            return None
        try:
            packed = pack(self.packet)
        except RecursionError:
            self.stop_folding()
            return None
        self.snapped, self.spacing = offset, _SHARE * len(packed)
        return Snapshot(turn=turn, offset=offset, hash=self.hash, packet=packed)

    def _note(self, event: _Light, line: Line) -> None:
        now, said = self.turn, event.data
        if now is None or event.turn != now.turn:
            return
        match event.type:
            case ToolResulted.type:
                now.results.append(_result(now, said, line, event.hash))
            case ToolCalled.type:
                now.tool, now.decided_by = _word(said.tool), _word(said.decided_by)
            case ModelRequest.type:
                now.prompt_tokens = _number(said.prompt_tokens)
            case AgentError.type:
                now.outcome = "error"
            case AgentStart.type if self.stream is not None:
                attempt = _number(said.attempt) or self.stream.attempt
                self.stream = replace(self.stream, attempt=attempt)

    def _fold(self, event: _Bare, line: Line) -> None:
        try:
            if self.packet is not None:
                self.packet = apply(self.packet, event.packet_delta)
            elif event.type == AgentStart.type:
                packet = start_packet(decode_event(line.raw))
                self.packet = packet and apply(packet, event.packet_delta)
        except (RemoraError, TypeError, ValueError, RecursionError):
            self.stop_folding()


def _decoded(raw: bytes) -> tuple[_Bare, bytes]:
    """The event, and its line as this version of the format would have written it.

    Raises ValueError or RecursionError for what is no event.
    """
    try:
        event = _current(raw)
    except (ValueError, RecursionError):
        older = lifted(raw, VERSION)
        if older is None:
            raise
    else:
        older = lifted(raw, VERSION) if event.v < VERSION else None
        if older is None:
            return event, raw
    return _current(older), older


def _current(raw: bytes) -> _Bare:
    try:
        return _LIGHT.decode(raw)
    except (ValueError, RecursionError):
        return _BARE.decode(raw)  # its data is no JSON object: `verify` will tell


def _result(now: _Turn, said: _Data, line: Line, digest: str) -> _Result:
    return _Result(
        place=Place(offset=line.offset, size=line.size, seq=line.number - 1, hash=digest),
        tool=_word(said.tool),
        outcome=_word(said.outcome),
        decided_by=now.decided_by,
        prompt_tokens=now.prompt_tokens,
        ms=_number(said.duration_ms),
    )


def _word(value: object) -> str:
    """A name, or nothing where a stream holds something else there."""
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    """A whole number that every database holds."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None
