"""Trace store protocol: streams of lines, each claimed by one writer at a time."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from remora.memory.events import Event, Head, Recovered


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claimed stream: its epoch (growing), its head, and torn tails that were moved aside."""

    epoch: int
    head: Head
    last: Event | None
    recovered: tuple[Recovered, ...] = ()


class TraceStore(Protocol):
    """Storage of streams as lines of bytes, never changed.

    A stream's name is `traces/{agent_id}` or `runs/{run_id}`. Threads may use different streams;
    `sync` may run beside `append` of one. Every backend passes
    `tests/trace/stream/store/conformance.py`.
    """

    def claim(self, stream: str) -> Claim:
        """Become the stream's only writer; creates a missing stream.

        Raises StreamLocked (by a live writer), StreamDamaged (beyond a torn tail), UsageError
        (invalid name) or DiskError.
        """

    def append(self, stream: str, epoch: int, expected_seq: int, line: bytes) -> None:
        """Append one line with its newline as line number `expected_seq`, counted from 0.

        It then survives the end of this process, after `sync` a power cut. Raises WriterReplaced
        (another claim, a release, a changed file), SeqConflict (another number of lines) or
        StreamWriteFailed; the stream is then unchanged.
        """

    def sync(self, stream: str, epoch: int) -> None:
        """Make all lines so far safe against a power cut.

        Raises WriterReplaced, or StreamWriteFailed: the claim is void, as a second sync proves
        nothing.
        """

    def release(self, stream: str, epoch: int) -> None:
        """Give up the claim. Does nothing if it is not the newest one."""

    def head(self, stream: str) -> Head:
        """Return the number of lines and the last hash. Raises NotFound, StreamDamaged."""

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from number `start`, without newlines. Raises NotFound."""

    def streams(self) -> Iterator[str]:
        """Yield the names of all streams, sorted."""
