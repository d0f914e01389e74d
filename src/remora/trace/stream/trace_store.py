"""Trace store protocol: streams of lines, each claimed by one writer at a time."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from remora.memory.events import Event, Head, Recovered


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claimed stream: its epoch (which increases), head and last event, and its recovered torn
    tails."""

    epoch: int
    head: Head
    last: Event | None
    recovered: tuple[Recovered, ...] = ()


class TraceStore(Protocol):
    """Append-only storage of streams as lines of bytes.

    A stream's name is `traces/{agent_id}` or `runs/{run_id}`. Threads may use different streams;
    for one stream, `sync` may run concurrently with `append`. Every backend must pass
    `tests/trace/stream/store/conformance.py`.
    """

    def claim(self, stream: str) -> Claim:
        """Claim a stream for its only writer. Create it if it is missing.

        Raises StreamLocked if a live writer has it, StreamDamaged for any damage except a torn
        tail, UsageError for an invalid name, or DiskError.
        """

    def append(self, stream: str, epoch: int, expected_seq: int, line: bytes) -> None:
        """Append one line with its newline as line number `expected_seq`, counted from 0.

        The line is then safe if this process is killed, and after `sync` also in a power cut.
        Raises WriterReplaced after a newer claim, a release or a change of the file, SeqConflict if
        the stream has a different number of lines, or StreamWriteFailed. In these cases, the stream
        is unchanged.
        """

    def sync(self, stream: str, epoch: int) -> None:
        """Make all lines so far safe against a power cut.

        Raises WriterReplaced, or StreamWriteFailed. After StreamWriteFailed the claim is void,
        because a second sync would prove nothing.
        """

    def release(self, stream: str, epoch: int) -> None:
        """Give up the claim. Does nothing if there is a newer claim."""

    def head(self, stream: str) -> Head:
        """Return the number of lines and the last hash. Raises NotFound, StreamDamaged."""

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from number `start` on, without newlines. Raises NotFound."""

    def streams(self) -> Iterator[str]:
        """Yield the names of all streams, sorted."""
