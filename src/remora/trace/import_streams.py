"""Import of recorded streams from files or another trace folder into a trace store."""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, groupby, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import NotFound, StreamDamaged, StreamError
from remora.memory.events import GENESIS, Event, Head
from remora.trace.content.line_format import stated_hash, valid_hash
from remora.trace.content.objects import ObjectStore
from remora.trace.read.reader import parse_event, read_lines
from remora.trace.retention.unused_contents import stored_contents
from remora.trace.stream.trace_store import TraceStore
from remora.trace.trace_folder import TraceFolder, stream_paths

_BATCH = 500


class ImportCounts(msgspec.Struct):
    """The number of streams, events and contents that were added, and the streams that failed.

    `unchanged` is the number of streams that were already complete.
    """

    streams: int = 0
    events: int = 0
    unchanged: int = 0
    contents: int = 0
    problems: list[str] = msgspec.field(default_factory=list)


class ImportTarget(NamedTuple):
    """The store that streams are added to, and the stores for their contents."""

    store: TraceStore
    blobs: ObjectStore
    objects: ObjectStore


def import_streams(sources: Iterable[Path], target: ImportTarget) -> ImportCounts:
    """Add the streams in files or trace folders, and the contents in trace folders.

    A stream that exists is continued if it is a beginning of the imported one. Otherwise, it is
    left as it is and reported, as is a stream with a line that does not match its hash. Raises
    NotFound if a source is missing, and DiskError or DatabaseError if the target cannot be written.
    """
    counts = ImportCounts()
    for source in sources:
        if not source.exists():
            raise NotFound(f"{source} does not exist", hint="name a .jsonl file or a folder")
        if source.is_dir():
            _import_contents(TraceFolder(source.parent, source), target, counts)
        paths = _stream_files(source) if source.is_dir() else (source,)
        for path in paths:
            _import_file(path, target, counts)
    return counts


def _stream_files(folder: Path) -> Iterator[Path]:
    """Yield agents before runs, because a run's stream refers to the heads of its agents."""
    return chain(stream_paths(folder / "traces"), stream_paths(folder / "runs"))


def _import_contents(source: TraceFolder, target: ImportTarget, counts: ImportCounts) -> None:
    stores = {"blobs": (source.blobs, target.blobs), "objects": (source.objects, target.objects)}
    for content in stored_contents(source):
        found, to = stores[content.store]
        try:
            to.put(found.get(content.digest))
            counts.contents += 1
        except (NotFound, StreamDamaged) as error:
            counts.problems.append(error.message)
    for _, to in stores.values():
        to.sync()


def _import_file(path: Path, target: ImportTarget, counts: ImportCounts) -> None:
    """Import the streams of a file, which may contain the lines of several streams in a row."""
    try:
        events = (
            (parse_event(raw, number, path), raw) for number, raw in enumerate(read_lines(path), 1)
        )
        for name, lines in groupby(events, key=lambda found: _stream_name(found[0])):
            _import_stream(name, lines, target.store, counts)
    except StreamDamaged as error:
        counts.problems.append(error.message)


def _stream_name(event: Event) -> str:
    return f"traces/{event.agent_id}" if event.agent_id else f"runs/{event.run_id}"


def _import_stream(
    name: str, lines: Iterable[tuple[Event, bytes]], store: TraceStore, counts: ImportCounts
) -> None:
    rest = iter(lines)
    try:
        known = Head()
        with suppress(NotFound):
            known = store.head(name)
        added = _append(name, known, _checked(name, rest), store)
    except (NotFound, StreamError) as error:
        counts.problems.append(error.message)
    else:
        counts.events += added
        counts.streams += added > 0
        counts.unchanged += added == 0
    finally:
        for _ in rest:  # the next stream begins after the last line of this one
            pass


def _checked(name: str, lines: Iterable[tuple[Event, bytes]]) -> Iterator[tuple[Head, bytes]]:
    """Yield each line with the head after it. Raises StreamDamaged at a line with a wrong hash."""
    head = Head(count=0, hash=GENESIS)
    for event, raw in lines:
        if event.seq != head.count or valid_hash(raw, head.hash) is None:
            raise StreamDamaged(f"{name}: line {head.count + 1} does not match its hash")
        head = Head(count=head.count + 1, hash=event.hash)
        yield head, raw


def _append(name: str, known: Head, lines: Iterator[tuple[Head, bytes]], store: TraceStore) -> int:
    """Append the lines that are not stored yet, and return their number."""
    same = next((head for head, _ in deque(islice(lines, known.count), maxlen=1)), Head())
    if same.count < known.count:  # the stored stream is longer
        line = next(store.lines(name, same.count - 1))
        known = Head(count=same.count, hash=stated_hash(line) or "")
    if same != known:
        raise StreamError(f"{name}: the stored stream has other lines than the imported one")
    first = next(lines, None)
    if first is None:
        return 0
    epoch, added = store.claim(name).epoch, 0
    try:
        for batch in _batches(chain((first,), lines)):
            store.append(name, epoch, known.count + added, *(raw + b"\n" for _, raw in batch))
            added += len(batch)
        store.sync(name, epoch)
    finally:
        store.release(name, epoch)
    return added


def _batches(lines: Iterator[tuple[Head, bytes]]) -> Iterator[list[tuple[Head, bytes]]]:
    while batch := list(islice(lines, _BATCH)):
        yield batch
