"""Totals of a run for each operation."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from remora.operations.base import (
    JobFindings,
    Phrase,
    Totals,
)
from remora.runs.records.findings import counts_as_done, fixed_and_left
from remora.text import count, plural

Document = Mapping[str, Any]


class OperationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of the started jobs of one operation.

    `verified` is the number of change sets that are accepted or pending. Rejected and conflicting
    change sets are counted neither here nor in `measures`. `measures` maps the key of each kind of
    totals to its numbers, or to null if they are unknown for every job.
    """

    operation: str
    jobs: int
    verified: int
    measures: dict[str, dict[str, int] | None]
    phrases: tuple[Phrase, ...]

    def document(self) -> dict[str, Any]:
        first = {"operation": self.operation, "jobs": self.jobs, "verified": self.verified}
        return {**first, **self.measures}


def totals_by_operation(
    jobs: Sequence[Document], planned: int, totals: Sequence[Totals]
) -> tuple[OperationTotals, ...]:
    """Return the totals of each operation, computed from job documents.

    Operations are ordered by the first of `totals` that applies to them, then by their first job.
    `planned` is the number of lint findings in the plan.
    """
    known = {
        name: [job for job in jobs if job["operation"] == name]
        for name in dict.fromkeys(str(job["operation"]) for job in jobs)
    }
    found = {name: _findings(each) for name, each in known.items()}
    measures: dict[str, dict[str, dict[str, int] | None]] = {name: {} for name in known}
    for each in totals:
        measured = {name: each.measure(found[name], 0) for name in known}
        having = [name for name, measure in measured.items() if measure is not None]
        if len(having) == 1:  # otherwise the plan's findings cannot be assigned
            measured[having[0]] = each.measure(found[having[0]], planned)
        for name, measure in measured.items():
            measures[name][each.key] = measure
    sums = [_sum(name, known[name], measures[name], totals) for name in known]
    return tuple(sorted(sums, key=lambda one: [one.measures[each.key] is None for each in totals]))


def skipped_node_count(node_ids: Sequence[str], operations: int, skipped: int) -> int:
    """Return the number of nodes without a job.

    `node_ids` contains the node of each job. `skipped` is the number of node-operation pairs
    without a job.
    """
    return (skipped + len(node_ids)) // max(1, operations) - len(set(node_ids))


def planned_skipped_nodes(plan: Mapping[str, Any]) -> int:
    """Return the number of nodes without a job in a recorded plan."""
    nodes = [str(job["node_id"]) for job in plan.get("jobs", ())]
    return skipped_node_count(nodes, len(plan.get("operations", ())), plan.get("skipped", 0))


def asked_text(asked: int, differed: int) -> str:
    """Describe how often a model decided, and how often it did so differently from rules."""
    text = f"a model was asked for {count(asked, 'decision')}, "
    if not differed:
        return text + "and rules would have decided the same"
    same = "it" if asked == 1 else "all" if differed == asked else f"{differed:,}"
    return text + f"and decided {same} differently from rules"


def phrases_of(sums: Sequence[OperationTotals]) -> list[Phrase]:
    """Return the phrases of all operations, in the order of the operations."""
    return [phrase for one in sums for phrase in one.phrases]


def _sum(
    operation: str,
    jobs: Sequence[Document],
    measures: dict[str, dict[str, int] | None],
    totals: Sequence[Totals],
) -> OperationTotals:
    verified = sum(job["status"] == "submitted" and counts_as_done(job) for job in jobs)
    phrases = [
        each.phrase(measure) for each in totals if (measure := measures[each.key]) is not None
    ]
    if not phrases:
        what = f"{operation} {plural('job', len(jobs))} verified"
        phrases = [Phrase(done=verified, of=len(jobs), what=what)]
    return OperationTotals(
        operation=operation,
        jobs=len(jobs),
        verified=verified,
        measures=measures,
        phrases=tuple(phrases),
    )


def _findings(jobs: Sequence[Document]) -> list[JobFindings]:
    """Return the findings of each job. Jobs whose findings are unknown are left out."""
    return [
        JobFindings(
            fixed=pair[0],
            left=pair[1],
            is_counted=counts_as_done(job),
            measurements=job["worth"] or {},
        )
        for job in jobs
        if (pair := fixed_and_left(job)) is not None
    ]
