"""Pending change sets, in the order in which they are reviewed."""

from typing import Literal

from remora.ids import split_node_key
from remora.runs.records.current_attempt import UNDECIDED
from remora.runs.records.findings import fixed
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView

GroupBy = Literal["file", "rule", "agent"]


def pending_changes(view: RunView, by: GroupBy) -> list[tuple[str, JobView]]:
    """Return each pending change set with the name of its group.

    The change sets of a group are adjacent. Groups are ordered by their first job.
    """
    found = [(_group(job, by), job) for job in view.jobs if job.review in UNDECIDED]
    first = {group: number for number, (group, _) in reversed([*enumerate(found)])}
    return sorted(found, key=lambda pair: first[pair[0]])


def _group(job: JobView, by: GroupBy) -> str:
    if by == "file":
        return split_node_key(job.node_id)[0]
    if by == "agent":
        return job.operation
    return ", ".join(sorted(fixed(job.before or {}, job.after or {}))) or "no rule"
