"""Streams read with every hash made again: what is not as it was written is never taken for it."""

from collections.abc import Iterator
from pathlib import Path

from remora.errors import StreamDamaged
from remora.memory.events import Event, Head
from remora.trace.content.line_format import Line, chained, is_torn
from remora.trace.read.reader import event_of, opened


def sound_events(path: Path) -> Iterator[Event]:
    """The events in order, as `read_events` gives them.

    Raises as that does, and StreamDamaged for the first line that is not what its hash says.
    """
    with opened(path) as source:
        for line, digest in chained(source):
            if not line.ended:
                return
            if digest is None:
                raise unsound(path, line)
            yield event_of(line.raw, line.number, path)


def sound_head(path: Path, *, torn: bool = False) -> Head:
    """The head of a stream; with `torn` an unfinished or torn line at its end is left out.

    Raises StreamDamaged for any other line that is not what its hash says, and as `opened` does.
    """
    head = Head()
    with opened(path) as source:
        stream = chained(source)
        for line, digest in stream:
            if digest is None:
                if torn and is_torn(line) and next(stream, None) is None:
                    break
                raise unsound(path, line)
            head = Head(count=line.number, hash=digest)
    return head


def unsound(path: Path, line: Line) -> StreamDamaged:
    """The error for a line that is not what its hash says."""
    return StreamDamaged(
        f"{path.name}: line {line.number} is not what its hash says",
        hint="`remora trace verify` tells more",
    )
