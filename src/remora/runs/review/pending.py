"""Pending changes, in the order in which they are reviewed."""

from collections.abc import Callable
from operator import attrgetter
from typing import Literal

from remora.ids import split_node_key
from remora.runs.records.findings import fixed
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView
from remora.statuses import PENDING, UNDECIDED

GroupBy = Literal["file", "rule", "agent"]


def pending_changes(view: RunView, by: GroupBy) -> list[tuple[str, JobView]]:
    """Return each pending change set with the name of its group.

    The change sets of a group are adjacent. Groups are ordered by their first job.
    """
    found = [(_GROUPINGS[by](job), job) for job in view.jobs if job.review.state in UNDECIDED]
    first = {group: number for number, (group, _) in reversed([*enumerate(found)])}
    return sorted(found, key=lambda pair: first[pair[0]])


def _file(job: JobView) -> str:
    return split_node_key(job.node_id)[0]


def is_alike(job: JobView, other: JobView) -> bool:
    """Return True if `other` is another change set of the same operation that corrects the same.

    A change set with a conflict is not alike.
    """
    return (
        other.agent_id != job.agent_id
        and other.review.state == PENDING
        and (other.operation, rules_text(other)) == (job.operation, rules_text(job))
    )


def rules_text(job: JobView) -> str:
    """Return what a change set corrects, such as `F401, UP006`."""
    return (
        ", ".join(sorted(fixed(job.findings.before or {}, job.findings.after or {}))) or "no rule"
    )


_GROUPINGS: dict[GroupBy, Callable[[JobView], str]] = {
    "file": _file,
    "rule": rules_text,
    "agent": attrgetter("operation"),
}
