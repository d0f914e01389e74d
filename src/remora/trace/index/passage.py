"""Some of a stream: its lines from a place on, or the bytes of one line, checked."""

from collections.abc import Iterator

from msgspec.structs import replace

from remora.errors import StreamDamaged
from remora.trace.index.rows import Place
from remora.trace.lines import TAIL, Line, carries, framed, lines, stated_hash
from remora.trace.source import Source

_GENESIS = "0" * 64
_WHOLE = 1 << 20


class _Part:
    """A stream's bytes from `start` on, read in pieces of at most `piece` bytes."""

    def __init__(self, source: Source, start: int, piece: int) -> None:
        self._source = source
        self._start = start
        self._piece = piece

    def size(self) -> int:
        """What is behind the start."""
        return max(0, self._source.size() - self._start)

    def pread(self, count: int, offset: int) -> bytes:
        """As the stream has it `offset` bytes behind the start."""
        return self._source.pread(min(count, self._piece), self._start + offset)


def lines_from(source: Source, start: int, count: int, *, piece: int = _WHOLE) -> Iterator[Line]:
    """The ended lines from byte `start` on, which `count` others come before.

    `piece` is how many bytes are read at a time: few where few lines are wanted.
    """
    for line in lines(_Part(source, start, piece)):
        if line.ended:
            moved = start or count  # a long stream is read from its beginning: nothing to add
            yield _moved(line, start, count) if moved else line


def _moved(line: Line, start: int, count: int) -> Line:
    return replace(line, number=line.number + count, offset=line.offset + start)


def follows(source: Source, offset: int, digest: str) -> bool:
    """Whether the line that ends at byte `offset` carries this hash; at 0, the one of no line."""
    if offset == 0:
        return digest == _GENESIS
    tail = framed(b"", digest)
    return offset >= len(tail) and source.pread(len(tail), offset - len(tail)) == tail


def line_at(source: Source, place: Place) -> bytes | None:
    """The line that a place names, or None if another one is there.

    Raises StreamDamaged if the line states the hash that was noted, and is not what that says.
    """
    before = min(place.offset, TAIL + 1)
    block = _read(source, before + place.size + 1, place.offset - before)
    raw = block[before : before + place.size]
    if block[before + place.size :] != b"\n" or stated_hash(raw) != place.hash:
        return None
    previous = stated_hash(block[: max(0, before - 1)]) if before else _GENESIS
    if previous is None or carries(raw, previous) is None:
        raise StreamDamaged(
            f"line {place.seq + 1} is not what its hash says",
            hint="`remora trace verify` tells what happened",
        )
    return raw


def _read(source: Source, count: int, offset: int) -> bytes:
    block = source.pread(count, offset)
    while len(block) < count and (more := source.pread(count - len(block), offset + len(block))):
        block += more
    return block
