"""Import of recorded streams from files or another trace folder into a trace store."""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, groupby, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import NotFound, StreamDamaged, StreamError, StreamWriteFailed, UsageError
from remora.memory.events import GENESIS, Event, Head
from remora.regular_file import open_regular
from remora.trace.content.byte_source import ByteSource, FileSource
from remora.trace.content.line_format import (
    MAX_FOREIGN_STREAM,
    MAX_LINE,
    complete_lines,
    newline_before,
    stated_hash,
    valid_hash,
)
from remora.trace.content.objects import ObjectStore
from remora.trace.content.private_files import disk_errors
from remora.trace.content.zstd_frames import FramesSource
from remora.trace.read.reader import parse_event
from remora.trace.retention.unused_contents import stored_contents
from remora.trace.stream.trace_store import TraceStore
from remora.trace.trace_folder import TraceFolder, stream_paths

_BATCH, _BATCH_BYTES = 500, 4 << 20
_Line = tuple[Event, bytes]


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
            raise NotFound(
                f"{source} does not exist", hint="name a file of exported lines or a folder"
            )
        if source.is_dir():
            _import_contents(TraceFolder(source.parent, source), target, counts)
        paths = _stream_files(source) if source.is_dir() else (source,)
        within = source if source.is_dir() else None
        for path in paths:
            import_stream_file(path, target, counts, within=within)
    return counts


def _stream_files(folder: Path) -> Iterator[Path]:
    """Yield agents before runs, because a run's stream refers to the heads of its agents."""
    return chain(stream_paths(folder / "traces"), stream_paths(folder / "runs"))


def _import_contents(source: TraceFolder, target: ImportTarget, counts: ImportCounts) -> None:
    stores = {"blobs": (source.blobs, target.blobs), "objects": (source.objects, target.objects)}

    def report(path: str) -> None:
        counts.problems.append(f"{path} is a link or the wrong type of file")

    for content in stored_contents(source, report):
        found, to = stores[content.store]
        try:
            to.copy(content.digest, found)
            counts.contents += 1
        except (NotFound, StreamDamaged) as error:
            counts.problems.append(error.message)
    for _, to in stores.values():
        to.sync()


def import_stream_file(
    path: Path, target: ImportTarget, counts: ImportCounts, *, within: Path | None = None
) -> None:
    """Import the streams of a file, which may contain the lines of several streams in a row.

    The file is read twice, so nothing of a damaged stream is added. A file that is not a regular
    one, or outside the folder `within`, is reported.
    """
    try:
        with _opened(path, within) as source, disk_errors(path):
            _import_from(path, source, target, counts)
    except StreamDamaged as error:  # a compressed file that cannot be read
        counts.problems.append(error.message)
    except OSError as error:
        counts.problems.append(f"{path} cannot be read: {error.strerror}")


def _import_from(
    path: Path, source: ByteSource, target: ImportTarget, counts: ImportCounts
) -> None:
    end = newline_before(source, source.size())
    if end < 0 and source.size() > MAX_LINE:  # do not search the whole file for a newline
        counts.problems.append(f"{path.name}: the last line is too long")
        return
    if end + 1 < source.size():
        counts.problems.append(f"{path.name}: the last line is incomplete and was left out")
    intact = list(_check(path, source, counts))
    for is_intact, (name, lines) in zip(intact, _streams(path, source), strict=False):
        if is_intact:
            _import_stream(name, lines, target.store, counts)


@contextmanager
def _opened(path: Path, within: Path | None) -> Iterator[ByteSource]:
    """Open a file with any name. One that ends in `.zst` is compressed."""
    with open_regular(path, within=within) as file:
        source: ByteSource = FileSource(file.fileno())
        if path.suffix == ".zst":
            source = FramesSource(source, path.name)
            if source.size() > MAX_FOREIGN_STREAM:
                raise StreamDamaged(
                    f"{path.name} has {source.size()} bytes when it is decompressed, but at most "
                    f"{MAX_FOREIGN_STREAM} are imported; decompress it with `zstd -d` to import it"
                )
        yield source


def _check(path: Path, source: ByteSource, counts: ImportCounts) -> Iterator[bool]:
    """Yield for each stream whether all of its hashes match, and report those that do not."""
    try:
        for name, lines in _streams(path, source):
            try:
                deque(_checked(name, lines), maxlen=0)
                yield True
            except StreamDamaged as error:
                counts.problems.append(error.message)
                yield False
    except StreamDamaged as error:  # the end of the file cannot be read
        counts.problems.append(error.message)


def _streams(path: Path, source: ByteSource) -> Iterator[tuple[str, Iterator[_Line]]]:
    events = (
        (parse_event(line.raw, line.number, path), line.raw) for line in complete_lines(source)
    )
    return groupby(events, key=lambda found: _stream_name(found[0]))


def _stream_name(event: Event) -> str:
    return f"traces/{event.agent_id}" if event.agent_id else f"runs/{event.run_id}"


def _import_stream(
    name: str, lines: Iterable[_Line], store: TraceStore, counts: ImportCounts
) -> None:
    try:
        known = Head()
        with suppress(NotFound):
            known = store.head(name)
        added = _append(name, known, _checked(name, lines), store)
    except StreamWriteFailed:  # the target is full or away: all others would fail, too
        raise
    except (NotFound, StreamError, UsageError) as error:
        counts.problems.append(error.message)
    else:
        counts.events += added
        counts.streams += added > 0
        counts.unchanged += added == 0


def _checked(name: str, lines: Iterable[_Line]) -> Iterator[tuple[Head, bytes]]:
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
            store.append(name, epoch, known.count + added, *batch)
            added += len(batch)
        store.sync(name, epoch)
    finally:
        store.release(name, epoch)
    return added


def _batches(lines: Iterator[tuple[Head, bytes]]) -> Iterator[list[bytes]]:
    batch, size = list[bytes](), 0
    for _, raw in lines:
        if batch and (len(batch) == _BATCH or size + len(raw) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(raw + b"\n")
        size += len(raw)
    yield batch
