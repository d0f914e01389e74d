"""Conflicts of changes with the user's files, and between the changes of a run."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from remora.errors import HostError
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView
from remora.runs.review.apply_changes import merged
from remora.runs.review.ready_changes import ready_change, written_change
from remora.workspaces.apply.line_diff import split_lines
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.apply.merge_lines import LineConflict, merge3
from remora.workspaces.rooted_files import RootedFiles


class LineVersions(NamedTuple):
    """Lines that the agent and the user changed."""

    line: int
    """The number of the first line in the base."""
    base: str
    """The lines before the run."""
    agent: str
    """The lines of the agent."""
    yours: str
    """The lines now."""


class ChangeConflict(NamedTuple):
    """A file with which a change set cannot be merged."""

    path: str
    detail: str
    """Why it cannot be merged."""
    places: list[LineVersions]
    """The lines, or nothing if the conflict is not between lines."""


def conflicts_now(project: ProjectRecords, patches: Sequence[FilePatch]) -> list[ChangeConflict]:
    """Return the conflicts of a change set with the user's files as they are now."""
    prepared = merged(project, patches)
    patch_of = {patch.path: patch for patch in patches}
    return [
        ChangeConflict(conflict.path, conflict.detail, [*_places(project, patch_of[conflict.path])])
        for conflict in prepared.conflicts
    ]


def _places(project: ProjectRecords, patch: FilePatch) -> Iterator[LineVersions]:
    with suppress(HostError):
        yours = RootedFiles(project.root).read_bytes(patch.path)
        if patch.base is None or patch.theirs is None:
            return
        old = split_lines(patch.base)
        for conflict in _line_conflicts(patch.base, yours, patch.theirs):
            base = b"".join(old[conflict.start - 1 : conflict.end - 1])
            versions = base, conflict.theirs, conflict.ours
            texts = (version.decode("utf-8", "replace") for version in versions)
            yield LineVersions(conflict.start, *texts)


def conflicting_jobs(project: ProjectRecords, view: RunView, job: JobView) -> list[JobView]:
    """Return the jobs whose accepted changes are where the job's pending hunks conflict.

    The list is empty if the user's edits caused the conflict. Raises NotFound if a file's content
    is missing, and StreamDamaged if the content is damaged.
    """
    ours = ready_change(project, job).patches
    return [
        other
        for other in view.jobs
        if other.review.is_written
        and _collide(project, ours, written_change(project, other).patches)
    ]


def _collide(
    project: ProjectRecords, ours: Sequence[FilePatch], theirs: Sequence[FilePatch]
) -> bool:
    there = {patch.path: patch for patch in theirs}
    return any(
        patch.path in there and _overlap(project, patch, there[patch.path]) for patch in ours
    )


def _overlap(project: ProjectRecords, one: FilePatch, other: FilePatch) -> bool:
    """Return True if two patches conflict at lines where the first conflicts with the user's file."""
    if one.theirs == other.theirs:  # identical changes do not conflict
        return False
    if one.base is None or one.theirs is None or other.base is None or other.theirs is None:
        return True  # one of them added or deleted the file
    collisions = _line_conflicts(one.base, other.theirs, one.theirs)
    with suppress(HostError):
        yours = RootedFiles(project.root).read_bytes(one.path)
        real = _line_conflicts(one.base, yours, one.theirs)
        return any(
            there.start == here.start or max(there.start, here.start) < min(there.end, here.end)
            for there in collisions
            for here in real
        )
    return bool(collisions)


def _line_conflicts(base: bytes, ours: bytes, theirs: bytes) -> tuple[LineConflict, ...]:
    merged = merge3(base, ours, theirs)
    return () if isinstance(merged, bytes) else merged
