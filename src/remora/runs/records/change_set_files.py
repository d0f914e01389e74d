"""Diff and patches of a job's change set. They are created from the contents in `objects/`."""

from typing import TYPE_CHECKING

import msgspec

from remora.ids import unescape_path
from remora.memory.events import Change
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.workspaces.copy.changes import diff

if TYPE_CHECKING:
    from remora.workspaces.apply.transaction import FilePatch


def job_diff(project: ProjectRecords, job: JobView) -> str:
    """Return the unified diff of a job's change set, or of the part that was accepted.

    Raises NotFound if a file's content is missing, DiskError if it cannot be read, and
    StreamDamaged if it is damaged.
    """
    return "".join(
        diff(unescape_path(change.path), *_contents(project, change), mode=change.mode)
        for change in job.changes
    )


def numbered_job_diff(project: ProjectRecords, job: JobView) -> str:
    """Return what `job_diff` returns, with numbers for the hunks. Raises whatever it raises."""
    from remora.workspaces.hunks import numbered_diff

    return numbered_diff(patches_of(project, job))


def patches_of(project: ProjectRecords, job: JobView) -> "list[FilePatch]":
    """Return the patches that accepting the job would apply, or has applied.

    Raises whatever `job_diff` raises.
    """
    from remora.workspaces.apply.transaction import FilePatch

    return [
        FilePatch(path=unescape_path(change.path), base=before, theirs=after, mode=change.mode)
        for change in job.changes
        for before, after in [_contents(project, change)]
    ]


def reverse_patches(patches: "list[FilePatch]") -> "list[FilePatch]":
    return [
        msgspec.structs.replace(
            patch, base=patch.theirs, theirs=patch.base, restores=patch.theirs is None
        )
        for patch in patches
    ]


def _contents(project: ProjectRecords, change: Change) -> tuple[bytes | None, bytes | None]:
    return _content(project, change.before), _content(project, change.after)


def _content(project: ProjectRecords, digest: str | None) -> bytes | None:
    return None if digest is None else project.trace.objects.get(digest)
