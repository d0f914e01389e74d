"""The contents of a job's change set, as `objects/` holds them: a diff, or what would be written."""

from typing import TYPE_CHECKING

import msgspec

from remora.ids import unspell_path
from remora.memory.events import Change
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.workspaces.copy.changes import diff

if TYPE_CHECKING:
    from remora.workspaces.apply.transaction import FilePatch


def job_diff(project: Project, job: JobView) -> str:
    """The unified diff of a job's change set. Raises NotFound, StreamDamaged for a content that
    is not there any more."""
    return "".join(
        diff(unspell_path(change.path), *_contents(project, change), mode=change.mode)
        for change in job.change_set
    )


def patches_of(project: Project, job: JobView) -> "list[FilePatch]":
    """What accepting the job would write. Raises as `job_diff` does."""
    from remora.workspaces.apply.transaction import FilePatch

    return [
        FilePatch(path=unspell_path(change.path), base=before, theirs=after, mode=change.mode)
        for change in job.change_set
        for before, after in [_contents(project, change)]
    ]


def undoing(patches: "list[FilePatch]") -> "list[FilePatch]":
    """What would take these patches back."""
    return [
        msgspec.structs.replace(
            patch, base=patch.theirs, theirs=patch.base, restores=patch.theirs is None
        )
        for patch in patches
    ]


def _contents(project: Project, change: Change) -> tuple[bytes | None, bytes | None]:
    return _content(project, change.before), _content(project, change.after)


def _content(project: Project, digest: str | None) -> bytes | None:
    return None if digest is None else project.trace.objects.get(digest)
