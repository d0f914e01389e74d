"""Events out of streams: one after another, or only a stream's end."""

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
    """What a listing shows of an agent's stream; `bytes` is the size of its file."""

    agent_id: str
    run_id: str
    operation: str
    node_id: str
    status: str
    turns: int
    events: int
    bytes: int


class _End(msgspec.Struct):
    status: str  # all that is read of agent_end: another field may stand as a blob's reference


@contextmanager
def open_stream(path: Path) -> Iterator[ByteSource]:
    """A stream's bytes, for reading: whether it is sealed or not, whichever path is given.

    Raises NotFound, DiskError (a link, no permission), or StreamDamaged for a sealed stream whose
    file is not what sealing made; reading that raises it too.
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
        raise NotFound(f"no stream {path}", hint="`remora trace list` names them")


def _places(path: Path) -> tuple[Path, ...]:
    """Where to look, and look again: a stream that is thawed or sealed meanwhile is in one place
    before it is no longer in the other.

    An empty file beside a sealed stream is nobody's: its writer was killed before it thawed.
    """
    return (plain_path(path), compressed_path(path)) * 2


def read_lines(path: Path) -> Iterator[bytes]:
    """The raw lines without their newlines; what follows the last newline is left out."""
    with open_stream(path) as source:
        for line in complete_lines(source):
            yield line.raw


def read_events(path: Path) -> Iterator[Event]:
    """The events in order. Hashes are `verify`'s task; a line that is no event raises
    StreamDamaged with its number."""
    for number, raw in enumerate(read_lines(path), 1):
        yield parse_event(raw, number, path)


def event_data(event: Event) -> dict[str, Any]:
    """What an event says, untyped. Raises StreamDamaged for what is no JSON object."""
    return decode_part(event, dict[str, Any])


def decode_part(event: Event, kind: type[_Part]) -> _Part:
    """What `kind` reads of an event's data: only that, for any other text may have been moved to
    a blob. Raises StreamDamaged for what does not fit."""
    try:
        return msgspec.json.decode(event.data, type=kind)
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error


def typed_payload(event: Event) -> Payload | None:
    """What an event says, None for a type that is not known. Raises StreamDamaged for data that
    is not what an event of its type holds."""
    try:
        return payload(event)
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error


def last_event(path: Path) -> Event | None:
    """The last complete event, without reading what is before it; None in an empty stream."""
    with open_stream(path) as source:
        raw = last_line(source)
    return None if raw is None else parse_event(raw, None, path)


def stream_status(path: Path) -> str:
    """An agent's status, `ended` for a run that ended, else `running` or `interrupted`.

    A stream without its end is `running` while a live writer holds it. So is a run's after
    `run_end` while a retry appends to it. Raises as `read_events` does.
    """
    last = last_event(path)
    if last is not None and last.agent_id:
        return _agent_status(last, path)
    if is_locked(plain_path(path)):
        return RUNNING
    ended = any(event.type == RunEnd.type for event in read_events(path))
    return ENDED if ended else INTERRUPTED


def list_streams(folder: TraceFolder) -> list[StreamInfo]:
    """One entry for each agent's stream, by agent_id; reads only each stream's end.

    A stream that cannot be read as one has the status `damaged` and what could be known of it.
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
    """The event of line `number`, None for the last one; raises StreamDamaged for what is none."""
    try:
        return decode_event(raw)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, number, version_of(raw)) from error


def invalid_event(event: Event) -> StreamDamaged:
    """The error for an event whose data is not what its type holds."""
    name = event.agent_id or event.run_id
    return StreamDamaged(
        f"{name}: event {event.seq} is no {event.type}",
        hint="`remora trace verify` tells what happened",
    )


def _damaged(path: Path, number: int | None, version: int | None = VERSION) -> StreamDamaged:
    place = "the last line" if number is None else f"line {number}"
    if version is not None and version != VERSION:
        return StreamDamaged(
            f"{path.name}: {place} is of version {version} of the format, which is not known here",
            hint=f"this Remora knows version {VERSION}: read the stream with the one that wrote it",
        )
    return StreamDamaged(
        f"{path.name}: {place} is no event", hint="`remora trace verify` tells what happened"
    )
