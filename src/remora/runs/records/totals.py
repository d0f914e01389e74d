"""Totals of a run for each operation."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from remora.operations.base import JobFindings, Phrase, Totals
from remora.runs.records.findings import counts_as_done, fixed_and_left, fixes_count
from remora.statuses import ACCEPTED, PENDING, VERIFIED
from remora.text import plural

Document = Mapping[str, Any]


class OperationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of the started jobs of one operation."""

    operation: str
    jobs: int
    verified: int
    """The number of change sets that are accepted or pending."""
    measures: dict[str, dict[str, int] | None]
    """The numbers of each kind of totals by key, or null if they are unknown for every job."""
    phrases: tuple[Phrase, ...]
    """The numbers as texts."""
    reviews: Collection[str] = ()
    """The review states of the change sets, with `accepted` for those that are so in part."""

    @property
    def remaining(self) -> int:
        """Work that was not done, in the units of the phrases."""
        return sum(phrase.of - phrase.done for phrase in self.phrases)

    def document(self) -> dict[str, Any]:
        first = {"operation": self.operation, "jobs": self.jobs, "verified": self.verified}
        return {**first, **self.measures}


def totals_by_operation(
    jobs: Iterable[Document], plan: Mapping[str, Any], totals: Sequence[Totals]
) -> tuple[OperationTotals, ...]:
    """Return the totals of each operation, computed from job documents.

    Operations are ordered by the first of `totals` that applies to them, then by their first job.
    All lint findings of the recorded plan count, also those that it leaves.
    """
    planned = plan.get("findings", 0) + sum(map(len, plan.get("left_findings", {}).values()))
    started = dict[str, list[Document]]()
    for job in jobs:
        started.setdefault(str(job["operation"]), []).append(job)
    found = {name: [*filter(None, map(_findings, group))] for name, group in started.items()}
    measures: dict[str, dict[str, dict[str, int] | None]] = {name: {} for name in started}
    for total in totals:
        measured = {name: total.measure(found[name], 0) for name in started}
        having = [name for name, measure in measured.items() if measure is not None]
        if len(having) == 1:  # otherwise the plan's findings cannot be assigned
            measured[having[0]] = total.measure(found[having[0]], planned)
        for name, measure in measured.items():
            measures[name][total.key] = measure
    sums = [_sum(name, group, measures[name], totals) for name, group in started.items()]
    return tuple(
        sorted(sums, key=lambda found: [found.measures[total.key] is None for total in totals])
    )


def phrases_of(sums: Sequence[OperationTotals]) -> list[Phrase]:
    """Return the phrases of all operations, in the order of the operations."""
    return [phrase for total in sums for phrase in total.phrases]


def proposed_text(sums: Sequence[OperationTotals]) -> str:
    """Return what precedes phrases about change sets of which some are not accepted yet."""
    reviews = {review for total in sums for review in total.reviews}
    accepted = "accepted or " if ACCEPTED in reviews else ""
    return f"{accepted}proposed: " if PENDING in reviews else ""


def _sum(
    operation: str,
    jobs: Sequence[Document],
    measures: dict[str, dict[str, int] | None],
    totals: Sequence[Totals],
) -> OperationTotals:
    verified = sum(job["status"] == VERIFIED and counts_as_done(job) for job in jobs)
    phrases = [
        total.phrase(measure) for total in totals if (measure := measures[total.key]) is not None
    ]
    if not phrases:
        what = f"{operation} {plural('job', len(jobs))} checked"
        phrases = [Phrase(done=verified, of=len(jobs), what=what)]
    return OperationTotals(
        operation=operation,
        jobs=len(jobs),
        verified=verified,
        measures=measures,
        phrases=tuple(phrases),
        reviews={job["review"] for job in jobs} | {ACCEPTED for job in jobs if job.get("written")},
    )


def _findings(job: Document) -> JobFindings | None:
    """Return the findings of a job if they are known."""
    if (pair := fixed_and_left(job)) is None:
        return None
    is_counted, worth = fixes_count(job), job["worth"] or {}
    return JobFindings(fixed=pair[0], left=pair[1], is_counted=is_counted, measurements=worth)
