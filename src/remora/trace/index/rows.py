"""What the index holds of a stream: a row for each call of each turn, and packets on the way."""

import msgspec
import zstandard

from remora.memory.packet import DecisionPacket
from remora.trace.index.keys import TraceKey
from remora.trace.read.store_queries import TurnMatch

_MOST = 16 * 1024 * 1024
"""Bytes of a packet that is unpacked; a real one has some 20 KB."""
_PACKET = msgspec.json.Decoder(DecisionPacket)


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a line stands in its stream, and which one it is; `size` is without the newline."""

    offset: int
    size: int
    seq: int
    hash: str


class TurnRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call of a turn; a turn without a result has one row too, and that has no `place`.

    The turn's lines are the bytes from `begin` to `end`, which is None for the stream's last turn.
    The rest is as in `TurnMatch`.
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
    begin: int
    end: int | None
    place: Place | None

    def match(self, key: TraceKey) -> TurnMatch:
        """As it is told to who asks; `key` is the turn's."""
        return TurnMatch(
            turn=self.turn,
            call=self.call,
            tool=self.tool,
            outcome=self.outcome,
            decided_by=self.decided_by,
            prompt_tokens=self.prompt_tokens,
            ms=self.ms,
            began=self.began,
            ended=self.ended,
            key=None if self.place is None else str(key),
        )


class StreamRow(msgspec.Struct, frozen=True, kw_only=True):
    """Whose stream it is; `attempt` and `started` tell which of a job's agents is the newest."""

    agent_id: str
    run_id: str
    operation: str
    node_id: str
    attempt: int
    started: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The packet before the first line of `turn`, which begins at `offset` and continues from
    `hash`."""

    turn: int
    offset: int
    hash: str
    packet: bytes


def pack(packet: DecisionPacket) -> bytes:
    """A packet with its keys in their order, compressed."""
    return zstandard.ZstdCompressor(level=1).compress(msgspec.json.encode(packet))


def unpack(packed: bytes) -> DecisionPacket:
    """The inverse of `pack`. Raises ValueError for what is none."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return _PACKET.decode(reader.read(_MOST))
    except zstandard.ZstdError as error:
        raise ValueError("not a packed packet") from error
