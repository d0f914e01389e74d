"""Export of streams with their contents into a folder that `trace import` reads."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.exports.formats import Groups
from remora.exports.run_bundles import RunBundle, bundle_of_run
from remora.trace.content.private_files import disk_errors
from remora.trace.import_streams import ImportCounts, ImportTarget, import_stream_file
from remora.trace.read.reader import is_being_written, last_event
from remora.trace.retention.unused_contents import StoreName, mentioned_hashes
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.trace_folder import TraceFolder, stream_id
from remora.trace.verify.content_check import needed_contents

_PARTS = {"runs", "traces", "blobs", "objects", ".gitignore"}
"""What an earlier export has created, all of it unless it was interrupted."""


def export_folder(folder: TraceFolder, groups: Groups, path: Path) -> ImportCounts:
    """Copy streams, and the blobs and objects that they mention, to a folder such as `.agentfs`.

    Each hash is checked. Contents are stored before the streams that mention them, and the export
    can be interrupted and repeated. A run that is written to during the export is a problem,
    because its streams are not copied at the same moment. Raises UsageError if `path` contains the
    exported streams or other files, and DiskError if it cannot be written.
    """
    path = path.resolve()
    _check_target(folder, path)
    copy = TraceFolder(path.parent, path)
    copy.create()
    target = ImportTarget(JsonlTraceStore(copy.path), copy.blobs, copy.objects)
    counts = ImportCounts()
    for group in groups():
        if isinstance(group, StreamDamaged):
            counts.problems.append(group.message)
            continue
        streams = list(_streams(folder, group, counts))
        is_written = any(map(is_being_written, streams))
        for stream in streams:
            if problem := folder.copy_problem(stream):
                counts.problems.append(problem)
            with suppress(StreamDamaged):  # import_stream_file reports it
                _copy_contents(folder, stream, target, counts)
            import_stream_file(stream, target, counts)
        if is_written or _has_changed(folder, group):
            _report_written(group.run_id, counts)
    return counts


def _check_target(folder: TraceFolder, path: Path) -> None:
    if path == folder.path.resolve():
        raise UsageError(
            f"{path} contains the streams to export", hint="use -o with another folder"
        )
    hint = "use -o with a new or empty folder, or one that was exported before"
    with disk_errors(path):
        if not path.exists():
            return
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder", hint=hint)
        names = {each.name for each in path.iterdir()}
    if not names <= _PARTS:
        raise UsageError(f"{path} contains other files", hint=hint)


def _streams(folder: TraceFolder, group: RunBundle, counts: ImportCounts) -> Iterator[Path]:
    """Yield agents before their run, because the run's stream refers to the heads of its agents.

    Streams that cannot be read are problems.
    """
    for agent_id in group.agents:
        try:
            yield folder.existing_agent(agent_id)
        except (StreamDamaged, NotFound) as error:
            counts.problems.append(error.message)
    if group.whole and group.path is not None:
        yield group.path


def _has_changed(folder: TraceFolder, group: RunBundle) -> bool:
    """Return True if the stream of a run has lines that were not there when its agents were listed.

    If the run was not listed, return True if it has a stream now that names the agents. A fork that
    was killed leaves an agent that its run does not name.
    """
    if group.path is None or group.head is None:
        with suppress(NotFound, StreamDamaged):
            return not bundle_of_run(folder, group.run_id).attempts.keys().isdisjoint(group.agents)
        return False
    with suppress(NotFound, StreamDamaged):  # import_stream_file reports it
        last = last_event(group.path)
        return group.whole and last is not None and last.seq >= group.head.count
    return False


def _report_written(run_id: str, counts: ImportCounts) -> None:
    problem = f"run {run_id} was written to during the export; repeat it when the run has ended"
    if problem not in counts.problems:
        counts.problems.append(problem)


def _copy_contents(
    folder: TraceFolder, stream: Path, target: ImportTarget, counts: ImportCounts
) -> None:
    """Copy the contents that a stream mentions, and report those that it needs and are missing."""
    needs = needed_contents(stream, folder.blobs)
    hashes = mentioned_hashes(stream)
    stores: tuple[StoreName, ...] = ("blobs", "objects")
    for name, needed in zip(stores, needs, strict=True):
        source, to = getattr(folder, name), getattr(target, name)
        found = source.existing(hashes) | needed
        for digest in sorted(found - to.existing(found)):
            try:
                to.copy(digest, source)
                counts.contents += 1
            except NotFound:
                counts.problems.append(f"{stream_id(stream)}: {name[:-1]} {digest} is missing")
            except StreamDamaged as error:
                counts.problems.append(error.message)
        to.sync()
