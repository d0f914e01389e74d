"""Export of streams with their contents into a folder that `trace import` reads."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from remora.errors import StreamDamaged, UsageError
from remora.exports.formats import Groups
from remora.exports.run_bundles import RunBundle
from remora.trace.import_streams import ImportCounts, ImportTarget, import_stream_file
from remora.trace.retention.unused_contents import StoreName, mentioned_hashes
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.trace_folder import TraceFolder


def export_folder(folder: TraceFolder, groups: Groups, path: Path) -> ImportCounts:
    """Copy streams, and the blobs and objects that they mention, to a folder such as `.agentfs`.

    Each hash is checked. Contents are stored before the streams that mention them, and the export
    can be interrupted and repeated. Raises UsageError if `path` contains the exported streams, and
    DiskError if it cannot be written.
    """
    if path.resolve() == folder.path.resolve():
        raise UsageError(
            f"{path} contains the streams to export", hint="use -o with another folder"
        )
    copy = TraceFolder(path.parent, path)
    copy.create()
    target = ImportTarget(JsonlTraceStore(copy.path), copy.blobs, copy.objects)
    counts, copied = ImportCounts(), set[tuple[StoreName, str]]()
    for group in groups():
        if isinstance(group, StreamDamaged):
            counts.problems.append(group.message)
            continue
        for stream in _streams(folder, group):
            if problem := folder.copy_problem(stream):
                counts.problems.append(problem)
            _copy_contents(folder, stream, target, counts, copied)
            import_stream_file(stream, target, counts)
    return counts


def _streams(folder: TraceFolder, group: RunBundle) -> Iterator[Path]:
    """Yield agents before their run, because the run's stream refers to the heads of its agents."""
    runs = [group.path] if group.whole and group.path is not None else []
    return chain(map(folder.existing_agent, group.agents), runs)


def _copy_contents(
    folder: TraceFolder,
    stream: Path,
    target: ImportTarget,
    counts: ImportCounts,
    copied: set[tuple[StoreName, str]],
) -> None:
    """Copy the contents that a stream mentions. Contents that are gone are not mentioned here:
    `trace verify` reports them.
    """
    hashes = mentioned_hashes(stream)
    stores: tuple[StoreName, ...] = ("blobs", "objects")
    for name in stores:
        source, to = getattr(folder, name), getattr(target, name)
        for digest in sorted(source.existing(hashes)):
            if (name, digest) in copied:
                continue
            copied.add((name, digest))
            try:
                to.put(source.get(digest))
                counts.contents += 1
            except StreamDamaged as error:
                counts.problems.append(error.message)
        to.sync()
