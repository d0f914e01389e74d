"""The protocol of what keeps streams: claimed by one writer at a time, appended to by line."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from remora.memory.events import Event, Head, Recovered


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as its new writer finds it.

    `epoch` is greater than that of every earlier claim of the stream. `recovered` tells of torn
    tails that were moved aside: the writer appends that before anything else.
    """

    epoch: int
    head: Head
    last: Event | None
    recovered: tuple[Recovered, ...] = ()


class TraceStore(Protocol):
    """Streams of lines, kept as the bytes that they are.

    A stream's name is `traces/{agent_id}` or `runs/{run_id}`. Different streams may be used from
    different threads; of one stream `sync` may run beside `append`. What may be asked of the
    events in a store is `trace.index`' task. Every backend passes `tests/trace/store`.
    """

    def claim(self, stream: str) -> Claim:
        """Become the stream's only writer; it is created where there is none.

        Raises StreamLocked (it has a live writer that cannot be replaced), StreamDamaged (a line
        is not what its hash says, and that is no torn tail), UsageError (no name) or DiskError.
        """

    def append(self, stream: str, epoch: int, expected_seq: int, line: bytes) -> None:
        """Add one line, its newline included, as line number `expected_seq` counted from 0.

        When this returns, the line outlives this process; after `sync` a power cut too.
        Raises WriterReplaced (another claim came after `epoch`'s, it was released, or the stream
        was changed by somebody else), SeqConflict (the stream ends elsewhere) or
        StreamWriteFailed; the stream is then as it was before.
        """

    def sync(self, stream: str, epoch: int) -> None:
        """Make all lines so far safe against a power cut.

        Raises WriterReplaced, or StreamWriteFailed: what was not yet safe may be lost, and the
        claim is void, for a second try could succeed and prove nothing.
        """

    def release(self, stream: str, epoch: int) -> None:
        """Give the stream back. Nothing happens where the claim is not the newest one."""

    def head(self, stream: str) -> Head:
        """Number of lines, and the hash of the last one. Raises NotFound, StreamDamaged."""

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        """The lines from number `start` on, without their newlines. Raises NotFound."""

    def streams(self) -> Iterator[str]:
        """The names of all streams, sorted."""
