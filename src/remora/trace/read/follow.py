"""Follower that reads a stream while lines are appended to it."""

from collections.abc import Iterator
from pathlib import Path

from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import complete_lines, newline_before
from remora.trace.read.reader import is_being_written, open_stream


class StreamFollower:
    """Yields the complete lines of a stream as they are appended.

    Starts with the last `count` existing lines. A line is yielded only after its newline has been
    written.
    """

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self._count = count
        self._place: int | None = None

    @property
    def is_written(self) -> bool:
        """True if a running writer has locked the stream."""
        return is_being_written(self.path)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines appended since the last call, without newlines.

        Raises NotFound if the stream does not exist, DiskError if it cannot be read, and
        StreamDamaged if the compressed file is invalid.
        """
        with open_stream(self.path) as source:
            if self._place is None:
                self._place = _offset_of_last(source, self._count)
            for line in complete_lines(source, self._place):
                self._place += line.size + 1
                yield line.raw


def _offset_of_last(source: ByteSource, count: int) -> int:
    """Return the offset at which the last `count` complete lines start."""
    end = newline_before(source, source.size())
    for _ in range(count):
        if end < 0:
            break
        end = newline_before(source, end)
    return end + 1
