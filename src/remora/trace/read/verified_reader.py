"""Streams read with every hash made again: what is not as it was written is never taken for it."""

from collections.abc import Iterator
from pathlib import Path

from remora.errors import StreamDamaged
from remora.memory.events import Event, Head
from remora.trace.content.line_format import Line, hashed_lines, is_torn
from remora.trace.read.reader import open_stream, parse_event


def verified_events(path: Path) -> Iterator[Event]:
    """The events in order, as `read_events` gives them.

    Raises as that does, and StreamDamaged for the first line that is not what its hash says.
    """
    with open_stream(path) as source:
        for line, digest in hashed_lines(source):
            if not line.ended:
                return
            if digest is None:
                raise hash_mismatch(path, line)
            yield parse_event(line.raw, line.number, path)


def verified_head(path: Path, *, torn: bool = False) -> Head:
    """The head of a stream; with `torn` an unfinished or torn line at its end is left out.

    Raises StreamDamaged for any other line that is not what its hash says, and as `open_stream` does.
    """
    head = Head()
    with open_stream(path) as source:
        stream = hashed_lines(source)
        for line, digest in stream:
            if digest is None:
                if torn and is_torn(line) and next(stream, None) is None:
                    break
                raise hash_mismatch(path, line)
            head = Head(count=line.number, hash=digest)
    return head


def hash_mismatch(path: Path, line: Line) -> StreamDamaged:
    """The error for a line that is not what its hash says."""
    return StreamDamaged(
        f"{path.name}: line {line.number} is not what its hash says",
        hint="`remora trace verify` tells more",
    )
