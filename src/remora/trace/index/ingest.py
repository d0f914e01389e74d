"""Conversion of stream lines to index rows and packet snapshots."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from remora.errors import RemoraError
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    GENESIS,
    AgentError,
    AgentStart,
    ModelRequest,
    ToolCalled,
    ToolResulted,
    decode_event,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.trace.content.line_format import Line
from remora.trace.index.rows import LinePlace, Snapshot, StreamRow, TurnRow, pack_packet
from remora.trace.read.state_at import start_packet

SPACING = 128 * 1024
"""Minimum bytes of a stream between two snapshots."""
_SHARE = 8
"""Minimum growth of the stream before the next snapshot, in multiples of the last snapshot's
size."""


_Hash = Annotated[str, msgspec.Meta(min_length=64, max_length=64)]
_Turns = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Data(msgspec.Struct, gc=False):
    """The fields of event data that index rows need. A long string may be a blob reference."""

    tool: Any = None
    outcome: Any = None
    decided_by: Any = None
    prompt_tokens: Any = None
    duration_ms: Any = None
    attempt: Any = None


class _Bare(msgspec.Struct, gc=False):
    """An event decoded without its data, which makes up most of the stream."""

    v: Literal[1]
    seq: int
    timestamp: str
    agent_id: str
    turn: _Turns
    type: str
    packet_delta: PacketDelta | None
    hash: _Hash


class _Light(_Bare, gc=False):
    """An event with the data fields that index rows need."""

    data: _Data


class _Identity(msgspec.Struct):
    run_id: str
    operation: str
    node_id: str


class _Result(msgspec.Struct, frozen=True, gc=False):
    place: LinePlace
    tool: str
    outcome: str
    decided_by: str
    prompt_tokens: int | None
    ms: int | None


class _Turn(msgspec.Struct):
    """The current turn of the stream."""

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
        """Return a row for each result, or a single row if the turn has no result."""
        if not self.results:
            return [self._row(1, None, end)]
        return [self._row(call, result, end) for call, result in enumerate(self.results, 1)]

    def _row(self, call: int, result: _Result | None, end: int | None) -> TurnRow:
        source = self if result is None else result
        return TurnRow(
            turn=self.turn,
            call=call,
            tool=source.tool,
            outcome=source.outcome,
            decided_by=source.decided_by,
            prompt_tokens=source.prompt_tokens,
            ms=None if result is None else result.ms,
            began=self.began,
            ended=self.ended,
            begin=self.begin,
            end=end,
            place=None if result is None else result.place,
        )


_LIGHT = msgspec.json.Decoder(_Light)
_IDENTITY = msgspec.json.Decoder(_Identity)
_BARE = msgspec.json.Decoder(_Bare)
_NOTHING: tuple[list[TurnRow], Snapshot | None] = ([], None)
_ROW_EVENTS = frozenset(
    {AgentStart.type, ModelRequest.type, ToolCalled.type, ToolResulted.type, AgentError.type}
)


class StreamReading(msgspec.Struct, kw_only=True):
    """State after reading a stream up to byte `size`. Reading can be resumed from a stored state.

    `fault` is the number of the first invalid line, or 0 if all lines are valid. Reading stops at
    that line. `closed` is the number of rows of finished turns. If `folds` is False, packets are
    not reconstructed.
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
        """Process the next line.

        If the line starts a new turn, return the rows of the previous turn, and a packet snapshot
        if one is due.
        """
        if (event := self._event(line)) is None:
            self.fault = line.number
            return _NOTHING
        now, closed = self.turn, _NOTHING
        if now is None or event.turn > now.turn:
            closed = self._enter(event, line.offset)
        else:
            now.ended = event.timestamp
        if event.type in _ROW_EVENTS and isinstance(event, _Light):
            self._note_event(event, line)
        if self.folds:
            self._fold(event, line)
        self.size, self.count, self.hash = line.offset + line.size + 1, line.number, event.hash
        return closed

    def open_rows(self) -> list[TurnRow]:
        """Return the rows of the current turn so far."""
        return self.turn.rows(None) if self.turn else []

    def is_behind(self, turn: int | None) -> bool:
        """Return True if `turn` has been read completely, which means that a later turn has
        started.

        Returns False if `turn` is None.
        """
        return turn is not None and self.turn is not None and self.turn.turn > turn

    def stop_folding(self) -> None:
        """Stop reconstructing packets for this stream."""
        self.folds, self.packet = False, None

    def _event(self, line: Line) -> _Bare | None:
        try:
            event = _decode_line(line.raw)
            if event.agent_id != self.agent_id or event.seq != line.number - 1:
                return None
            if self.stream is None:
                self._begin(event, _IDENTITY.decode(line.raw))
        except (ValueError, RecursionError):
            return None
        return event

    def _begin(self, event: _Bare, identity: _Identity) -> None:
        self.stream = StreamRow(
            agent_id=self.agent_id,
            run_id=identity.run_id,
            operation=identity.operation,
            node_id=identity.node_id,
            attempt=1,
            started=event.timestamp,
        )

    def _enter(self, event: _Bare, offset: int) -> tuple[list[TurnRow], Snapshot | None]:
        """Start the event's turn.

        Return the rows of the previous turn, and a packet snapshot if one is due.
        """
        closed = self.turn.rows(offset) if self.turn else []
        self.closed += len(closed)
        self.turn = _Turn(event.turn, offset, event.timestamp, event.timestamp)
        return closed, self._snapshot(event.turn, offset)

    def _snapshot(self, turn: int, offset: int) -> Snapshot | None:
        if self.packet is None or offset - self.snapped < max(SPACING, self.spacing):
            return None
        try:
            packed = pack_packet(self.packet)
        except RecursionError:
            self.stop_folding()
            return None
        self.snapped, self.spacing = offset, _SHARE * len(packed)
        return Snapshot(turn=turn, offset=offset, hash=self.hash, packet=packed)

    def _note_event(self, event: _Light, line: Line) -> None:
        now, data = self.turn, event.data
        if now is None or event.turn != now.turn:
            return
        match event.type:
            case ToolResulted.type:
                now.results.append(_result(now, data, line, event.hash))
            case ToolCalled.type:
                now.tool, now.decided_by = _word(data.tool), _word(data.decided_by)
            case ModelRequest.type:
                now.prompt_tokens = _number(data.prompt_tokens)
            case AgentError.type:
                now.outcome = "error"
            case AgentStart.type if self.stream is not None:
                attempt = _number(data.attempt) or self.stream.attempt
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


def _decode_line(raw: bytes) -> _Bare:
    """Return the decoded event. Raises ValueError or RecursionError if the line is not an event."""
    try:
        return _LIGHT.decode(raw)
    except (ValueError, RecursionError):
        return _BARE.decode(raw)  # its data is not a JSON object: `verify` reports it


def _result(now: _Turn, data: _Data, line: Line, digest: str) -> _Result:
    return _Result(
        place=LinePlace(offset=line.offset, size=line.size, seq=line.number - 1, hash=digest),
        tool=_word(data.tool),
        outcome=_word(data.outcome),
        decided_by=now.decided_by,
        prompt_tokens=now.prompt_tokens,
        ms=_number(data.duration_ms),
    )


def _word(value: object) -> str:
    """Return `value` if it is a string, or an empty string otherwise."""
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    """Return `value` if it is an integer that every database can store, or None otherwise."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None
