"""Event reader that verifies every hash."""

from collections.abc import Iterator
from pathlib import Path

from remora.errors import StreamDamaged
from remora.memory.events import Event, Head
from remora.trace.content.line_format import Line, hashed_lines
from remora.trace.read.reader import open_stream, parse_event


def verified_events(path: Path) -> Iterator[Event]:
    """Yield the events in order after verifying their hashes.

    Raises StreamDamaged at the first line that does not match its hash, and whatever `read_events`
    raises.
    """
    return (event for event, _ in verified_lines(path))


def verified_lines(path: Path) -> Iterator[tuple[Event, bytes]]:
    """Yield the events with their lines. Raises whatever `verified_events` raises."""
    with open_stream(path) as source:
        for line, digest in hashed_lines(source):
            if not line.ended:
                return
            if digest is None:
                raise hash_mismatch(path, line)
            yield parse_event(line.raw, line.number, path), line.raw


def events_with_heads(path: Path) -> Iterator[tuple[Event, Head | None]]:
    """Yield each event with the stream's head after that event.

    The head is None for the first line that does not match its hash, and for all later lines.
    Raises whatever `read_events` raises.
    """
    with open_stream(path) as source:
        for line, digest in hashed_lines(source):
            if line.ended:
                head = None if digest is None else Head(count=line.number, hash=digest)
                yield parse_event(line.raw, line.number, path), head


def verified_head(path: Path) -> Head:
    """Return the head of a stream after verifying all hashes.

    Raises StreamDamaged if a line does not match its hash, and whatever `open_stream` raises.
    """
    head = Head()
    with open_stream(path, in_order=True) as source:
        for line, digest in hashed_lines(source):
            if digest is None:
                raise hash_mismatch(path, line)
            head = Head(count=line.number, hash=digest)
    return head


def hash_mismatch(path: Path, line: Line) -> StreamDamaged:
    """Return the error for a line that does not match its hash."""
    return StreamDamaged(
        f"{path.name}: line {line.number} does not match its hash",
        hint="run `remora trace verify` for details",
    )
