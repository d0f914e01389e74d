"""Event reader. Reads all events of a stream, or only the last one."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from remora.errors import DiskError, InvalidEvent, NotFound, RemoraError, StreamDamaged, UsageError
from remora.memory import projection
from remora.memory.context import ContextManager
from remora.memory.events import (
    VERSION,
    AgentEnd,
    Event,
    Payload,
    RunEnd,
    UnknownVersion,
    decode_event,
    payload,
)
from remora.memory.foreign_events import read_event
from remora.memory.packet import DecisionPacket
from remora.statuses import DAMAGED, ENDED, FAILED, INTERRUPTED, RUNNING, shown_status
from remora.trace.content.byte_source import ByteSource, FileSource, PieceSource
from remora.trace.content.line_format import complete_lines, last_line
from remora.trace.content.private_files import disk_errors, open_read_only
from remora.trace.content.zstd_file import decompressed, temporary_copy
from remora.trace.stream_lock import is_locked
from remora.trace.trace_folder import (
    TraceFolder,
    compressed_path,
    is_compressed,
    plain_path,
    stream_id,
)

_Part = TypeVar("_Part")
_Kind = TypeVar("_Kind", bound=Payload)
Recorded = Event | Mapping[str, Any] | str | bytes
_BEFORE = b"\xef\xbb\xbf \t\r\n"  # a byte order mark, or empty lines
Stream = str | os.PathLike[str] | Iterable[Recorded]


class StreamInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of an agent's stream, as shown in lists."""

    agent_id: str
    run_id: str
    operation: str
    node_id: str
    status: str
    turns: int
    events: int
    bytes: int
    """The size of the file."""


class _Update(msgspec.Struct):
    source: str = ""


class _End(msgspec.Struct):
    status: str  # the only field read of agent_end; other fields may hold references to blobs


@contextmanager
def open_stream(path: Path, *, in_order: bool = False) -> Iterator[ByteSource]:
    """Open a stream for reading, whether it is plain or compressed. `path` may be either of its two
    paths.

    With `in_order`, the bytes may only be read once from the start, and no temporary file is needed.
    Raises NotFound if there is no stream, DiskError if the file is a link or cannot be opened, and
    StreamDamaged if the compressed file is invalid.
    """
    with ExitStack() as stack:
        empty = None
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
                pieces = decompressed(FileSource(file), place.name)
                yield (
                    PieceSource(pieces) if in_order else stack.enter_context(temporary_copy(pieces))
                )
                return
            if os.fstat(file).st_size:
                yield FileSource(file)
                return
            empty = FileSource(file)
        if empty is not None:
            yield empty
            return
        what = "is not a stream" if path.is_file() else "does not exist"
        raise NotFound(f"{path} {what}", hint="list the streams with `remora trace list`")


def _places(path: Path) -> tuple[Path, ...]:
    """Return the paths to try. Each path occurs twice.

    The second attempt is needed if the stream is compressed or decompressed during the first. In
    both cases, the new file appears before the old one is removed.

    An empty plain file next to a compressed stream is not the stream. A writer is about to replace
    it with the decompressed stream, or was killed before.
    """
    return (plain_path(path), compressed_path(path)) * 2


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the raw lines, without newlines. An unfinished last line is skipped."""
    with open_stream(path, in_order=True) as source:
        for line in complete_lines(source):
            yield line.raw


def read_events(path: Path | str) -> Iterator[Event]:
    """Yield the events of a stream in order, without checking their hashes.

    Raises StreamDamaged if a line is not an event. The message contains the line number.
    """
    path = Path(path)
    for number, raw in enumerate(read_lines(path), 1):
        yield parse_event(raw, number, path)


def replay(
    stream: Stream, *, strict: bool = True, initial_context: Mapping[str, Any] | str = ""
) -> DecisionPacket:
    """Return the packet after the last event of a stream.

    `stream` is the path of a file, plain or compressed, or the stream's events, lines or dicts.
    Hashes are not checked. Plain events, as for `ContextManager.apply_event`, are applied to
    `initial_context`. Raises what `read_events` raises, InvalidEvent, and UsageError if it is not
    the stream of an agent.
    """
    events = iter(stream_events(stream))
    first = [*islice(events, 1)]
    events = chain(first, events)
    if first and not isinstance(read_event(first[0]), Event):
        context = ContextManager(initial_context)
        for number, event in enumerate(events, 1):
            try:
                context.apply_event(event, strict=strict)
            except InvalidEvent as error:
                raise InvalidEvent(f"event {number}: {error.message}", hint=error.hint) from error
        return context.packet
    try:
        return projection.replay(events, strict=strict)
    except RemoraError:
        raise
    except ValueError as error:
        hint = "use the stream of an agent, such as .agentfs/traces/AGENT.jsonl"
        raise UsageError(str(error), hint=hint) from error


def stream_events(stream: Stream) -> Iterable[Recorded]:
    """Return the events of a stream, or the lines of a file of plain events."""
    if not isinstance(stream, (str, os.PathLike)):
        return stream
    path = Path(stream)
    with suppress(OSError), path.open("rb") as file:  # the reader of streams raises the error
        start = file.read(64).lstrip(_BEFORE)
        if start.startswith(b"{") and not start.startswith(b'{"v":'):
            file.seek(0)
            return [line for line in file.read().lstrip(_BEFORE).splitlines() if line.strip()]
    return read_events(path)


def event_data(event: Event) -> dict[str, Any]:
    """Return the data of an event as a dict.

    Raises StreamDamaged if the data is not a JSON object.
    """
    return decode_part(event, dict[str, Any])


def decode_part(event: Event, kind: type[_Part]) -> _Part:
    """Decode only the event data fields that `kind` declares.

    Other fields are ignored, because they may contain blob references. Raises StreamDamaged if the
    data does not match `kind`.
    """
    try:
        return msgspec.json.decode(event.data, type=kind)
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error


def update_source(event: Event) -> str:
    """Return what wrote a context update, such as `hub`, or an empty string."""
    return decode_part(event, _Update).source


def typed_payload(event: Event) -> Payload | None:
    """Return the typed payload of an event, or None if the event type is unknown.

    Raises StreamDamaged if the data does not match the event type.
    """
    try:
        return payload(event)
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error


def payload_of(event: Event, kind: type[_Kind]) -> _Kind:
    """Return the payload of an event of a known type. Raises StreamDamaged if its data is invalid."""
    found = typed_payload(event)
    if not isinstance(found, kind):
        raise invalid_event(event)
    return found


def payload_if(event: Event, kind: type[_Kind]) -> _Kind | None:
    """Return the payload of an event of a type, or None for others. Raises StreamDamaged."""
    return payload_of(event, kind) if event.type == kind.type else None


def last_event(path: Path) -> Event | None:
    """Return the last complete event, or None if the stream is empty. Reads only the end of a plain
    stream.
    """
    if os.path.lexists(plain_path(path)):
        with open_stream(path) as source:
            raw = last_line(source)
    else:
        raw = next(iter(deque(read_lines(path), maxlen=1)), None)
    return None if raw is None else parse_event(raw, None, path)


def stream_status(path: Path) -> str:
    """Return the status of a stream, which may belong to an agent or a run.

    A finished agent has the status recorded in its end event, and a finished run has `ended`. A
    stream without an end event is `running` if a live writer has locked it, and `interrupted`
    otherwise. A run's stream is also `running` while a retry appends to it after `run_end`. Raises
    whatever `read_events` raises.
    """
    last = last_event(path)
    if last is not None and last.agent_id:
        return _agent_status(last, path)
    is_written = is_locked(plain_path(path))
    ended = not is_written and any(event.type == RunEnd.type for event in read_events(path))
    return run_status(is_written=is_written, ended=ended)


def run_status(*, is_written: bool, ended: bool, has_failed: bool = False) -> str:
    """Return a run's status. Determine `is_written` first, because a run may end while its events
    are read. `has_failed` is True if all of its jobs have failed.
    """
    if is_written:
        return RUNNING
    if not ended:
        return INTERRUPTED
    return FAILED if has_failed else ENDED


def is_being_written(path: Path) -> bool:
    """Return True if a running writer has locked the stream. `path` may be either of the stream's
    two paths.
    """
    return is_locked(plain_path(path))


def list_streams(folder: TraceFolder) -> list[StreamInfo]:
    """Return a summary of each agent's stream, sorted by agent ID.

    Reads only the end of each stream. An unreadable stream has the status `damaged`, and any fields
    that could not be read are empty or 0.
    """
    return [_info(path, folder.copy_problem(path)) for path in folder.agent_streams()]


def _info(path: Path, problem: str | None) -> StreamInfo:
    size, last, status = 0, None, DAMAGED
    with suppress(DiskError, NotFound, StreamDamaged, OSError):
        size = path.lstat().st_size
        last = last_event(path)
        status = _agent_status(last, path)
    return StreamInfo(
        agent_id=stream_id(path),
        run_id=last.run_id if last else "",
        operation=last.operation if last else "",
        node_id=last.node_id if last else "",
        status=status if problem is None else DAMAGED,
        turns=last.turn if last else 0,
        events=last.seq + 1 if last else 0,
        bytes=size,
    )


def _agent_status(last: Event | None, path: Path) -> str:
    if last is None or last.type != AgentEnd.type:
        return RUNNING if is_locked(plain_path(path)) else INTERRUPTED
    try:
        return shown_status(msgspec.json.decode(last.data, type=_End).status)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, None) from error


def parse_event(raw: bytes, number: int | None, path: Path) -> Event:
    """Decode the event on line `number`, or on the last line if `number` is None.

    Raises StreamDamaged if the line is not an event.
    """
    try:
        return decode_event(raw)
    except UnknownVersion as error:
        raise StreamDamaged(
            f"{path.name}: {_place(number)}: {error}",
            hint=f"this version of Remora reads format {VERSION}; "
            "use the version that wrote the stream",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, number) from error


def invalid_event(event: Event) -> StreamDamaged:
    """Return the error for an event whose data does not match its type."""
    name = event.agent_id or event.run_id
    return StreamDamaged(
        f"{name}: event {event.seq} is not a valid {event.type}",
        hint="run `remora trace verify` for details",
    )


def _damaged(path: Path, number: int | None) -> StreamDamaged:
    return StreamDamaged(
        f"{path.name}: {_place(number)} is not an event",
        hint="run `remora trace verify` for details",
    )


def _place(number: int | None) -> str:
    return "the last line" if number is None else f"line {number}"
