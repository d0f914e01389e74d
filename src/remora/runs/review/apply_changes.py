"""One change set into the user's files: what keeps it out, and how it is written."""

from collections.abc import Iterable, Sequence

import msgspec

from remora.agents.redaction import written
from remora.ids import split_node_key, unspell_path
from remora.memory.events import Review
from remora.runs.project import Project
from remora.runs.records.current_attempt import STALE
from remora.runs.records.job_view import JobView
from remora.runs.records.run_stream import RunStream
from remora.runs.review.journals import details, journal_note
from remora.runs.review.recheck import Recheck, Tree
from remora.workspaces.apply.transaction import (
    FileConflict,
    FilePatch,
    PreparedChanges,
    write_changes,
)


def objections(
    job: JobView,
    patches: Sequence[FilePatch],
    prepared: PreparedChanges,
    recheck: Recheck,
    tree: Tree,
) -> Sequence[FileConflict]:
    """Why an accepted change set cannot be written, empty if it can; `tree` is what it was merged
    with."""
    return (
        _stale(job, prepared)
        or prepared.conflicts
        or secrets_in(patches)
        or recheck.objections(job, prepared, tree)
    )


def land(
    project: Project,
    stream: RunStream,
    node_id: str,
    prepared: PreparedChanges,
    review: Review,
    otherwise: Review,
) -> list[FileConflict]:
    """Journal, record the review, exchange. Where a file moves on in that moment nothing is
    written, `otherwise` is recorded too, and the conflicts say why."""
    keep(project, prepared)

    def on_conflict(found: Sequence[FileConflict]) -> None:
        stream.append(msgspec.structs.replace(otherwise, detail=details(node_id, found)))

    return write_changes(
        prepared,
        project.state / "journal",
        record=lambda: _record(stream, review),
        note=journal_note(
            review, node_id, stream.run_id, stream.head.count, otherwise=otherwise.verdict
        ),
        on_conflict=on_conflict,
    )


def keep(project: Project, prepared: PreparedChanges) -> None:
    """What is replaced, and what takes its place, stay in `objects/`."""
    for write in prepared.writes:
        for content in (write.ours, write.result):
            if content is not None:
                project.trace.objects.put(content)
    project.trace.objects.sync()


def secrets_in(patches: Iterable[FilePatch]) -> list[FileConflict]:
    """Files in which a placeholder would come where the user has a secret, or had nothing."""
    found = [(patch.path, written([(patch.base, patch.theirs)])) for patch in patches]
    return [FileConflict(path=path, detail=detail) for path, detail in found if detail]


def _record(stream: RunStream, review: Review) -> None:
    stream.append(review)


def _stale(job: JobView, prepared: PreparedChanges) -> list[FileConflict]:
    """What the agent did not see of its node; nothing, where the user took the edit back."""
    moved_on = prepared.conflicts or any(write.merged for write in prepared.writes)
    if job.review != STALE or not moved_on:
        return []
    path, _ = split_node_key(job.node_id)
    detail = "you changed this node while the agent worked on it; a retry works on what it is now"
    return [FileConflict(path=unspell_path(path), detail=detail)]
