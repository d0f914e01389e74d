"""Event reader that verifies every hash, and results of tools that are found by their keys.

The key of a result is `trace:RUN:OPERATION:NODE:TURN`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.ids import agent_id
from remora.memory.events import Event, Head, ToolResulted
from remora.trace.content.line_format import Line, hashed_lines
from remora.trace.read.reader import open_stream, parse_event
from remora.trace.trace_folder import TraceFolder


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


_KEY = re.compile(r"trace:([^:]*):([^:]*):([^\ud800-\udfff]*):(\d{1,18})", re.ASCII)


def recorded_result(folder: TraceFolder, key: str) -> bytes:
    """Return the line of the first tool result of a turn, by the newest agent that has one.

    Raises UsageError if the key is invalid, NotFound if there is no such result, StreamDamaged if a
    line before it does not match its hash, and DiskError if a stream cannot be read.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        raise UsageError(f"{key!r} is not a valid key", hint="use trace:RUN:OPERATION:NODE:TURN")
    run_id, operation, node_id, turn = found.groups()
    for path in _newest_first(folder, run_id, operation, node_id):
        for event, line in verified_lines(path):
            if event.turn > int(turn):
                break
            if event.turn == int(turn) and event.type == ToolResulted.type:
                return line
    raise NotFound(
        f"nothing is recorded under {key}", hint="list the streams with `remora trace list`"
    )


def _newest_first(folder: TraceFolder, run_id: str, operation: str, node_id: str) -> list[Path]:
    """Return the streams of a job's attempts, the last attempt first."""
    found: list[Path] = []
    while path := folder.find_agent(agent_id(operation, run_id, node_id, len(found) + 1)):
        found.insert(0, path)
    return found
