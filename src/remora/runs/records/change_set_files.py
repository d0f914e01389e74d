"""Diff and patches of a job's change. They are created from the contents in `objects/`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from remora.ids import unescape_path
from remora.memory.events import Change
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.workspaces.copy.changes import diff

if TYPE_CHECKING:
    from remora.workspaces.apply.merge_change_set import FilePatch
    from remora.workspaces.hunks import ChangeHunk


def job_diff(project: ProjectRecords, job: JobView) -> str:
    """Return the unified diff of a job's change set, or of the part that is pending or accepted.

    Raises NotFound if a file's content is missing, DiskError if it cannot be read, and
    StreamDamaged if it is damaged.
    """
    return "".join(
        diff(patch.path, patch.base, patch.theirs, mode=patch.mode)
        for patch in patches_of(project, job)
    )


def patches_of(project: ProjectRecords, job: JobView) -> "list[FilePatch]":
    """Return the patches that accepting the job would apply, or has applied.

    Raises whatever `job_diff` raises.
    """
    from remora.workspaces.hunks import with_hunks

    if job.review.left:
        return with_hunks(patches_from(project, job.proposal.changes), job.review.left)
    return patches_from(project, job.changes)


def patches_from(project: ProjectRecords, changes: Iterable[Change]) -> "list[FilePatch]":
    """Return recorded changes as patches. Raises whatever `job_diff` raises."""
    from remora.workspaces.apply.merge_change_set import FilePatch

    return [
        FilePatch(
            path=unescape_path(change.path),
            base=_content(project, change.before),
            theirs=_content(project, change.after),
            mode=change.mode,
        )
        for change in changes
    ]


def shown_hunks(project: ProjectRecords, job: JobView) -> "list[ChangeHunk]":
    """Return the hunks that `job_diff` shows, with their groups. Raises whatever it raises.

    There are none if the change set was accepted with edits.
    """
    from remora.runs.records.hunk_groups import labelled_hunks

    part = job.review.left or (None if job.review.written is None else job.review.written.hunks)
    return labelled_hunks(patches_from(project, job.proposal.changes), job, part)


def named_job_diff(project: ProjectRecords, job: JobView) -> str:
    """Return what `job_diff` returns, with the numbers and labels of the hunks.

    Raises whatever it raises.
    """
    from remora.workspaces.hunks import named_diff

    names = {hunk.number: hunk.label for hunk in shown_hunks(project, job)}
    if not names:
        return job_diff(project, job)
    return named_diff(patches_from(project, job.proposal.changes), names)


def stacked_diffs(project: ProjectRecords, jobs: Iterable[JobView]) -> Iterator[str]:
    """Yield the diff of each job, of files as the jobs before it leave them.

    `git apply` takes them together, unless two jobs change the same lines.
    """
    known: dict[str, bytes | None] = {}
    for job in jobs:
        patches = [_on_top(patch, known.get(patch.path)) for patch in patches_of(project, job)]
        is_first = known.keys().isdisjoint(patch.path for patch in patches)
        known |= {patch.path: patch.theirs for patch in patches}
        texts = (diff(new.path, new.base, new.theirs, mode=new.mode) for new in patches)
        yield named_job_diff(project, job) if is_first else "".join(texts)


def _on_top(patch: "FilePatch", before: bytes | None) -> "FilePatch":
    """Return a patch of a file as others leave it, or itself if they change the same lines."""
    from remora.workspaces.apply.merge_lines import merge3

    if before is None or patch.base is None or patch.theirs is None:
        return patch
    merged = merge3(patch.base, before, patch.theirs)
    is_merged = isinstance(merged, bytes)
    return msgspec.structs.replace(patch, base=before, theirs=merged) if is_merged else patch


def reverse_patches(patches: "list[FilePatch]") -> "list[FilePatch]":
    return [
        msgspec.structs.replace(
            patch, base=patch.theirs, theirs=patch.base, restores=patch.theirs is None
        )
        for patch in patches
    ]


def _content(project: ProjectRecords, digest: str | None) -> bytes | None:
    return None if digest is None else project.trace.objects.get(digest)
