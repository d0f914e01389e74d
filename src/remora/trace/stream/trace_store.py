"""Trace store protocol: streams of lines, each claimed by one writer at a time."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from remora.memory.events import Event, Head, Recovered


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as its new writer finds it.

    `epoch` is greater than that of every earlier claim of the stream. `recovered` describes torn
    tails that were moved aside: the writer records it before any other event.
    """

    epoch: int
    head: Head
    last: Event | None
    recovered: tuple[Recovered, ...] = ()


class TraceStore(Protocol):
    """Storage of streams as lines of bytes, never changed.

    A stream's name is `traces/{agent_id}` or `runs/{run_id}`. Different streams may be used from
    different threads; `sync` may run beside `append` of the same stream. `trace.index` answers
    queries over the events. Every backend passes `tests/trace/stream/store/conformance.py`.
    """

    def claim(self, stream: str) -> Claim:
        """Become the stream's only writer; creates a missing stream.

        Raises StreamLocked (a live writer cannot be replaced), StreamDamaged (a line does not match
        its hash and is not a torn tail), UsageError (invalid name) or DiskError.
        """

    def append(self, stream: str, epoch: int, expected_seq: int, line: bytes) -> None:
        """Append one line with its newline as line number `expected_seq`, counted from 0.

        When this returns, the line survives the end of this process; after `sync` a power cut too.
        Raises WriterReplaced (another claim was made after this epoch, it was released, or another
        process changed the stream), SeqConflict (the stream has another number of lines) or
        StreamWriteFailed; the stream is then unchanged.
        """

    def sync(self, stream: str, epoch: int) -> None:
        """Make all lines so far safe against a power cut.

        Raises WriterReplaced, or StreamWriteFailed: lines not synced before may be lost and the
        claim is void, because a second sync could succeed and prove nothing.
        """

    def release(self, stream: str, epoch: int) -> None:
        """Give up the claim. Does nothing if it is not the newest one."""

    def head(self, stream: str) -> Head:
        """Return the number of lines and the last hash. Raises NotFound, StreamDamaged."""

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from number `start`, without newlines. Raises NotFound."""

    def streams(self) -> Iterator[str]:
        """Yield the names of all streams, sorted."""
