"""The model's part of a run: turns, invalid and refused answers, cost, and added work."""

from collections.abc import Sequence

import msgspec

from remora.runs.records.job_view import JobView
from remora.statuses import VERIFIED
from remora.text import count


class ModelPart(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the jobs in which a model was asked.

    `turns` counts calls that a model chose, `fallback` those taken in its place. `added` counts the
    findings that were left when the model's turns began, and are fixed in verified change sets.
    """

    turns: int
    invalid: int
    refused: int
    fallback: int
    requests: int
    tokens: int
    added: int


def model_part(jobs: Sequence[JobView]) -> ModelPart | None:
    """Return the model's part in the jobs, or None if no model was asked."""
    asked = [job for job in jobs if job.counts.requests]
    if not asked:
        return None
    choices = [job.counts.decided_by for job in asked]
    return ModelPart(
        turns=sum(choice.get("model", 0) + choice.get("escalation", 0) for choice in choices),
        invalid=sum(job.counts.invalid for job in asked),
        refused=sum(job.counts.refused for job in asked),
        fallback=sum(choice.get("fallback", 0) for choice in choices),
        requests=sum(job.counts.requests for job in asked),
        tokens=sum(job.counts.sent_tokens for job in asked),
        added=sum(map(_added, asked)),
    )


def _added(job: JobView) -> int:
    if job.status != VERIFIED or job.findings.opened is None or job.findings.after is None:
        return 0
    return sum(job.findings.opened.values()) - sum(job.findings.after.values())


def model_text(part: ModelPart) -> str:
    """Describe it, such as `model: 42 turns, 1 refused; 43 requests, 9,000 tokens`."""
    told = {"invalid": part.invalid, "refused": part.refused, "fallback": part.fallback}
    counts = [f"{number:,} {name}" for name, number in told.items() if number]
    cost = f"{count(part.requests, 'request')}, {count(part.tokens, 'token')}"
    added = f"; {count(part.added, 'finding')} fixed after the rules" if part.added > 0 else ""
    return f"model: {', '.join([count(part.turns, 'turn'), *counts])}; {cost}{added}"
