"""Merging a change with the user's files, checking it, and writing it."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from remora.agents.redaction import placeholder_in_files
from remora.errors import HostError
from remora.ids import split_node_key, unescape_path
from remora.memory.events import Review
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.run_stream import RunStream
from remora.runs.review.journals import JournalNote, details
from remora.runs.review.ready_changes import ReadyChange
from remora.runs.review.recheck import Recheck, Tree
from remora.statuses import STALE
from remora.workspaces.apply.merge_change_set import (
    FileConflict,
    FilePatch,
    PreparedChanges,
    ReadFile,
    prepare_changes,
)
from remora.workspaces.apply.transaction import write_changes
from remora.workspaces.rooted_files import RootedFiles


def merged(
    project: ProjectRecords, patches: Sequence[FilePatch], read_file: ReadFile | None = None
) -> PreparedChanges:
    """Merge a change set with the user's files, by the rules of the operations if necessary.

    If `read_file` is given, the change set is merged with the files that it returns.
    """
    prepared = prepare_changes(project.root, patches, read_file)
    if not prepared.conflicts:
        return prepared
    adapted = [_adapt(project, patch, read_file) for patch in patches]
    moved = {new.path for new, old in zip(adapted, patches, strict=True) if new != old}
    prepared = prepare_changes(project.root, adapted, read_file)
    writes = [
        msgspec.structs.replace(write, merged=write.merged or write.path in moved)
        for write in prepared.writes
    ]
    return msgspec.structs.replace(prepared, writes=tuple(writes))


def _adapt(project: ProjectRecords, patch: FilePatch, read_file: ReadFile | None) -> FilePatch:
    """Apply the merge rules to a patch. A patch for a missing file is returned unchanged."""
    ours: bytes | None
    try:
        if read_file is None:
            ours = RootedFiles(project.root).read_bytes(patch.path)
        else:
            ours, _ = read_file(patch.path)
    except HostError:
        return patch
    if ours is None:
        return patch
    for merge in project.operations.merges:
        patch = merge(project.root, patch, ours)
    return patch


def objections(
    change: ReadyChange, prepared: PreparedChanges, recheck: Recheck, tree: Tree
) -> Sequence[FileConflict]:
    """Return the reasons that an accepted change cannot be written, if any.

    `tree` contains the files that the change was merged with.
    """
    return (
        _find_stale_node(change.job, prepared)
        or prepared.conflicts
        or secrets_in(change.patches)
        or recheck.objections(change.job, prepared, tree, is_whole=change.is_whole)
    )


def write_change_set(
    project: ProjectRecords,
    stream: RunStream,
    node_id: str,
    prepared: PreparedChanges,
    review: Review,
    otherwise: Review,
) -> list[dict[str, Any]]:
    """Write the journal, record the review, and replace the files.

    If a file changes before it can be replaced, nothing is written. In this case, `otherwise` is
    recorded after `review`, and the conflicts are returned.
    """
    store_contents(project, prepared)

    def on_conflict(found: Sequence[FileConflict]) -> None:
        stream.append(msgspec.structs.replace(otherwise, detail=details(node_id, found)))

    failed = write_changes(
        prepared,
        project.state / "journal",
        record=lambda: _record(stream, review),
        note=_note(stream, node_id, review, otherwise),
        on_conflict=on_conflict,
    )
    return details(node_id, failed)


def _note(stream: RunStream, node_id: str, review: Review, otherwise: Review) -> dict[str, str]:
    note = JournalNote(
        run_id=stream.run_id,
        agent_id=review.agent_id,
        node_id=node_id,
        seq=str(stream.head.count),
        verdict=review.verdict,
        otherwise=otherwise.verdict,
    )
    return msgspec.structs.asdict(note)


def store_contents(project: ProjectRecords, prepared: PreparedChanges) -> None:
    """Store each file's old content and new content in `objects/`."""
    for write in prepared.writes:
        for content in (write.ours, write.result):
            if content is not None:
                project.trace.objects.put(content)
    project.trace.objects.sync()


def secrets_in(patches: Iterable[FilePatch]) -> list[FileConflict]:
    """Return a conflict for each change that adds a secret's placeholder to a file."""
    found = [(patch.path, placeholder_in_files([(patch.base, patch.theirs)])) for patch in patches]
    return [FileConflict(path=path, detail=detail) for path, detail in found if detail]


def _record(stream: RunStream, review: Review) -> None:
    stream.append(review)


def _find_stale_node(job: JobView, prepared: PreparedChanges) -> list[FileConflict]:
    """Return a conflict if the user edited the node and the edit is still in the file."""
    moved_on = prepared.conflicts or any(write.merged for write in prepared.writes)
    if job.review.state != STALE or not moved_on:
        return []
    path, _ = split_node_key(job.node_id)
    detail = "you changed this node while the agent worked on it; a retry uses the current version"
    return [FileConflict(path=unescape_path(path), detail=detail)]
