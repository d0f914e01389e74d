"""Trace store protocol. A store contains streams of lines, and only one writer at a time can claim
a stream.
"""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from remora.memory.events import Event, Head, Recovered


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim on a stream."""

    epoch: int
    """It increases with each claim of the same stream."""
    head: Head
    last: Event | None
    recovered: tuple[Recovered, ...] = ()
    """The torn tails that were recovered."""
    deaths: int = 0
    """How many earlier writers did not release the stream, if the store knows it."""


class TraceStore(Protocol):
    """Append-only storage for streams of lines.

    The name of a stream is `traces/{agent_id}` or `runs/{run_id}`. Threads may use different
    streams at the same time. For a single stream, `sync` may run concurrently with `append`. Every
    backend must pass `tests/trace/stream/store/conformance.py`.
    """

    def claim(self, stream: str) -> Claim:
        """Claim a stream as its only writer. Create the stream if it is missing.

        Raises StreamLocked if another running writer has claimed it, StreamDamaged if it has any
        damage other than a torn tail, UsageError if the name is invalid, and DiskError if it cannot
        be opened.
        """

    @property
    def appends_turns(self) -> bool:
        """True if the lines of a turn should be appended together, because each append takes
        long.
        """

    def append(self, stream: str, epoch: int, expected_seq: int, *lines: bytes) -> None:
        """Append lines, each with its newline. `expected_seq` is the number of the first one,
        starting at 0.

        The lines then survive if this process is killed. After `sync`, they also survive a power
        failure. Raises WriterReplaced if the stream was claimed again, released or changed,
        SeqConflict if the stream has a different number of lines, and StreamWriteFailed if the
        write fails. The stream is unchanged in all of these cases.
        """

    def sync(self, stream: str, epoch: int) -> None:
        """Sync all lines to disk, so that they survive a power failure.

        Raises WriterReplaced if the claim is no longer valid, and StreamWriteFailed if the sync
        fails. A failed sync also ends the claim, because a second sync may succeed although data
        was lost.
        """

    def release(self, stream: str, epoch: int) -> None:
        """Release the claim. Does nothing if there is a newer claim."""

    def head(self, stream: str) -> Head:
        """Return the number of lines and the hash of the last line.

        Raises NotFound if the stream does not exist, and StreamDamaged if it is invalid.
        """

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from line number `start`, without newlines. Raises NotFound if the stream
        does not exist.
        """
