"""Event reader: all events of a stream, or only its end."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import VERSION, AgentEnd, Event, Payload, RunEnd, decode_event, payload
from remora.memory.upcast import version_of
from remora.trace.content.byte_source import ByteSource, FileSource
from remora.trace.content.line_format import complete_lines, last_line
from remora.trace.content.private_files import disk_errors, open_read_only
from remora.trace.content.zstd_frames import FramesSource
from remora.trace.stream_lock import is_locked
from remora.trace.trace_folder import (
    TraceFolder,
    compressed_path,
    is_compressed,
    plain_path,
    stream_id,
)

_Part = TypeVar("_Part")
RUNNING, INTERRUPTED, ENDED, DAMAGED = "running", "interrupted", "ended", "damaged"


class StreamInfo(msgspec.Struct, frozen=True, kw_only=True):
    """List entry of an agent's stream. `bytes` is the size of its file."""

    agent_id: str
    run_id: str
    operation: str
    node_id: str
    status: str
    turns: int
    events: int
    bytes: int


class _End(msgspec.Struct):
    status: str  # the only field read of agent_end; other fields may hold references to blobs


@contextmanager
def open_stream(path: Path) -> Iterator[ByteSource]:
    """Open a plain or compressed stream for reading, given either of its two paths.

    Raises NotFound, DiskError (for a link or a missing permission), or StreamDamaged for an invalid
    compressed file. Reading from such a file may raise StreamDamaged too.
    """
    with ExitStack() as stack:
        for place in _places(path):
            try:
                with disk_errors(place):
                    file = open_read_only(place)
            except DiskError as error:
                if isinstance(error.__cause__, FileNotFoundError):
                    continue
                raise
            stack.callback(os.close, file)
            if is_compressed(place):
                yield FramesSource(FileSource(file), place.name)
                return
            if os.fstat(file).st_size or not os.path.lexists(compressed_path(place)):
                yield FileSource(file)
                return
        raise NotFound(f"no stream {path}", hint="list the streams with `remora trace list`")


def _places(path: Path) -> tuple[Path, ...]:
    """Return the paths to try, each twice.

    While a stream is compressed or decompressed, its new file appears before its old one
    disappears. An empty plain file next to a compressed stream is not the stream: a writer was
    killed before it decompressed the stream.
    """
    return (plain_path(path), compressed_path(path)) * 2


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the raw lines without newlines; skips the bytes after the last newline."""
    with open_stream(path) as source:
        for line in complete_lines(source):
            yield line.raw


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events in order. Hashes are not checked (see `verify`). Raises StreamDamaged with
    the line number for a line that is not an event."""
    for number, raw in enumerate(read_lines(path), 1):
        yield parse_event(raw, number, path)


def event_data(event: Event) -> dict[str, Any]:
    """Return the untyped data of an event. Raises StreamDamaged if it is not a JSON object."""
    return decode_part(event, dict[str, Any])


def decode_part(event: Event, kind: type[_Part]) -> _Part:
    """Decode the fields of an event's data that `kind` declares; other fields may hold references
    to blobs. Raises StreamDamaged for data that does not match."""
    try:
        return msgspec.json.decode(event.data, type=kind)
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error


def typed_payload(event: Event) -> Payload | None:
    """Return the typed payload of an event, or None for an unknown type. Raises StreamDamaged for
    data that does not match the event's type."""
    try:
        return payload(event)
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error


def last_event(path: Path) -> Event | None:
    """Return the last complete event, or None for an empty stream. Reads from the end."""
    with open_stream(path) as source:
        raw = last_line(source)
    return None if raw is None else parse_event(raw, None, path)


def stream_status(path: Path) -> str:
    """Return the status of an agent's or a run's stream.

    An agent that ended has its recorded status, and a run that ended has `ended`. Without an end
    event, a stream is `running` while a live writer has locked it, else `interrupted`. A run's
    stream is also `running` while a retry appends to it after `run_end`. Raises whatever
    `read_events` raises.
    """
    last = last_event(path)
    if last is not None and last.agent_id:
        return _agent_status(last, path)
    is_written = is_locked(plain_path(path))
    ended = not is_written and any(event.type == RunEnd.type for event in read_events(path))
    return run_status(is_written=is_written, ended=ended)


def run_status(*, is_written: bool, ended: bool) -> str:
    """Return a run's status. Check `is_written` first: a run may end while its events are read."""
    if is_written:
        return RUNNING
    return ENDED if ended else INTERRUPTED


def is_being_written(path: Path) -> bool:
    """Return True if a live writer has locked the stream. Accepts either of its two paths."""
    return is_locked(plain_path(path))


def list_streams(folder: TraceFolder) -> list[StreamInfo]:
    """Return an entry for each agent's stream, sorted by agent ID. Reads only the end of each
    stream.

    An unreadable stream has the status `damaged`, and only the fields that are known.
    """
    return [_info(path) for path in folder.agent_streams()]


def _info(path: Path) -> StreamInfo:
    size, last, status = 0, None, DAMAGED
    try:
        size = path.lstat().st_size
        last = last_event(path)
        status = RUNNING if is_locked(plain_path(path)) else INTERRUPTED
        if last is not None:
            status = _agent_status(last, path)
    except (DiskError, NotFound, StreamDamaged, OSError):
        status = DAMAGED
    return StreamInfo(
        agent_id=stream_id(path),
        run_id=last.run_id if last else "",
        operation=last.operation if last else "",
        node_id=last.node_id if last else "",
        status=status,
        turns=last.turn if last else 0,
        events=last.seq + 1 if last else 0,
        bytes=size,
    )


def _agent_status(last: Event, path: Path) -> str:
    if last.type != AgentEnd.type:
        return RUNNING if is_locked(plain_path(path)) else INTERRUPTED
    try:
        return msgspec.json.decode(last.data, type=_End).status
    except (ValueError, RecursionError) as error:
        raise _damaged(path, None) from error


def parse_event(raw: bytes, number: int | None, path: Path) -> Event:
    """Decode the event on line `number` (None for the last line). Raises StreamDamaged for an
    invalid line."""
    try:
        return decode_event(raw)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, number, version_of(raw)) from error


def invalid_event(event: Event) -> StreamDamaged:
    """Return the error for an event whose data does not match its type."""
    name = event.agent_id or event.run_id
    return StreamDamaged(
        f"{name}: event {event.seq} is not a valid {event.type}",
        hint="run `remora trace verify` for details",
    )


def _damaged(path: Path, number: int | None, version: int | None = VERSION) -> StreamDamaged:
    place = "the last line" if number is None else f"line {number}"
    if version is not None and version != VERSION:
        return StreamDamaged(
            f"{path.name}: {place} has format version {version}, which this version of Remora cannot read",
            hint=f"this version reads format {VERSION}; use the version of "
            "Remora that wrote the stream",
        )
    return StreamDamaged(
        f"{path.name}: {place} is not an event", hint="run `remora trace verify` for details"
    )
