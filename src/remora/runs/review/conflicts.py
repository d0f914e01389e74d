"""Conflicts between the change sets of a run."""

from remora.memory.events import Change
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView
from remora.workspaces.apply.merge_lines import MergeConflict, merge3


def conflicting_jobs(project: Project, view: RunView, job: JobView) -> list[JobView]:
    """Return the jobs whose accepted change sets cannot be merged with the job's change set.

    The list is empty if the user's edits caused the conflict. Raises NotFound if a file's content
    is missing, and StreamDamaged if the content is damaged.
    """
    return [
        other
        for other in view.jobs
        if other.review == "accepted" and _collide(project, job.changes, other.changes)
    ]


def _collide(project: Project, ours: tuple[Change, ...], theirs: tuple[Change, ...]) -> bool:
    there = {change.path: change for change in theirs}
    return any(
        change.path in there and _overlap(project, change, there[change.path]) for change in ours
    )


def _overlap(project: Project, one: Change, other: Change) -> bool:
    if one.after == other.after:  # identical changes do not conflict
        return False
    if one.before is None or one.after is None or other.before is None or other.after is None:
        return True  # one of them added or deleted the file
    read = project.trace.objects.get
    return isinstance(merge3(read(one.before), read(one.after), read(other.after)), MergeConflict)
