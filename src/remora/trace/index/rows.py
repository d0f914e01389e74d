"""Index records for turns, streams and packet snapshots."""

from typing import Annotated

import msgspec
import zstandard
from msgspec import Meta

from remora.memory.packet import DecisionPacket
from remora.trace.content.line_format import MAX_LINE
from remora.trace.index.keys import TraceKey
from remora.trace.read.store_queries import TurnMatch

_MAX_PACKET = 16 * 1024 * 1024  # maximum bytes of an unpacked packet; a typical one has about 20 KB
_Offset = Annotated[int, Meta(ge=0, le=1 << 44)]  # larger than any file
_PACKET = msgspec.json.Decoder(DecisionPacket)


class LinePlace(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Position and identity of a line in its stream. `size` does not include the newline."""

    offset: _Offset
    size: Annotated[int, Meta(ge=0, le=MAX_LINE)]
    seq: int
    hash: str


class TurnRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call in a turn. A turn without a result has one row, whose `place` is None.

    The turn's lines are the stream's bytes from `begin` to `end`. `end` is None for the last turn.
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
    begin: _Offset
    end: int | None
    place: LinePlace | None

    def match(self, key: TraceKey) -> TurnMatch:
        """Return the row as a query result. `key` is the key of the row's entry."""
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
    """Identity of a stream. `attempt` and `started` determine which agent of a job is newer."""

    agent_id: str
    run_id: str
    operation: str
    node_id: str
    attempt: int
    started: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Packet before the first line of `turn`.

    That line starts at byte `offset`. `hash` is the hash of the line before it.
    """

    turn: int
    offset: _Offset
    hash: str
    packet: bytes


def pack_packet(packet: DecisionPacket) -> bytes:
    """Return the packet as compressed JSON, keeping the order of keys."""
    return zstandard.ZstdCompressor(level=1).compress(msgspec.json.encode(packet))


def unpack_packet(packed: bytes) -> DecisionPacket:
    """Return the packet that `pack_packet` compressed. Raises ValueError if the data is invalid."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return _PACKET.decode(reader.read(_MAX_PACKET))
    except zstandard.ZstdError as error:
        raise ValueError("not a packed packet") from error
