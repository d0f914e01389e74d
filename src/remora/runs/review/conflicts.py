"""Conflicts of changes with the user's files, and between the changes of a run."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from remora.errors import HostError
from remora.memory.events import Change
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView
from remora.runs.review.merges import merged
from remora.workspaces.apply.line_diff import split_lines
from remora.workspaces.apply.merge_lines import MergeConflict, merge3
from remora.workspaces.apply.transaction import FilePatch
from remora.workspaces.rooted_files import RootedFiles


class LineVersions(NamedTuple):
    """Lines that the agent and the user changed: before the run, by the agent, and now.

    `line` is the number of the first in the base.
    """

    line: int
    base: str
    agent: str
    yours: str


class ChangeConflict(NamedTuple):
    """A file with which a change set cannot be merged, and why.

    `places` is empty if the conflict is not between lines.
    """

    path: str
    detail: str
    places: list[LineVersions]


def conflicts_now(project: ProjectRecords, patches: Sequence[FilePatch]) -> list[ChangeConflict]:
    """Return the conflicts of a change set with the user's files as they are now."""
    prepared = merged(project, patches)
    patch_of = {patch.path: patch for patch in patches}
    return [
        ChangeConflict(each.path, each.detail, [*_places(project, patch_of[each.path])])
        for each in prepared.conflicts
    ]


def _places(project: ProjectRecords, patch: FilePatch) -> Iterator[LineVersions]:
    with suppress(HostError):
        yours = RootedFiles(project.root).read_bytes(patch.path)
        if patch.base is None or patch.theirs is None:
            return
        merge = merge3(patch.base, yours, patch.theirs)
        old = split_lines(patch.base)
        for each in merge.conflicts if isinstance(merge, MergeConflict) else ():
            base = b"".join(old[each.start - 1 : each.end - 1])
            texts = (text.decode("utf-8", "replace") for text in (base, each.theirs, each.ours))
            yield LineVersions(each.start, *texts)


def conflicting_jobs(project: ProjectRecords, view: RunView, job: JobView) -> list[JobView]:
    """Return the jobs whose accepted change sets cannot be merged with the job's change set.

    The list is empty if the user's edits caused the conflict. Raises NotFound if a file's content
    is missing, and StreamDamaged if the content is damaged.
    """
    return [
        other
        for other in view.jobs
        if other.is_written and _collide(project, job.changes, other.changes)
    ]


def _collide(project: ProjectRecords, ours: tuple[Change, ...], theirs: tuple[Change, ...]) -> bool:
    there = {change.path: change for change in theirs}
    return any(
        change.path in there and _overlap(project, change, there[change.path]) for change in ours
    )


def _overlap(project: ProjectRecords, one: Change, other: Change) -> bool:
    if one.after == other.after:  # identical changes do not conflict
        return False
    if one.before is None or one.after is None or other.before is None or other.after is None:
        return True  # one of them added or deleted the file
    read = project.trace.objects.get
    return isinstance(merge3(read(one.before), read(one.after), read(other.after)), MergeConflict)
