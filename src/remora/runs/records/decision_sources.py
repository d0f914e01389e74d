"""What decided in a run: counts of decisions by their source, and the part of the model."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from remora.runs.records.job_view import JobView
from remora.statuses import VERIFIED
from remora.text import count, escape_line

SOURCES = ("rule", "embedded", "server", "escalation", "fallback")
"""A rule, the embedded model, a server, the larger model, or the first suggestion after invalid
calls of a model."""
_NAMES = {
    "rule": "rules",
    "embedded": "the embedded model",
    "server": "the model server",
    "escalation": "the larger model",
    "fallback": "fallback, because a model failed",
}


def decision_sources(decided_by: Mapping[str, int], provider: str) -> dict[str, int]:
    """Return an agent's counts by source. `provider` is that of its model.

    A call counts once, by who decided it.
    """
    own = "embedded" if provider == "embedded" else "server"
    return total_of({own if by == "model" else by: n} for by, n in decided_by.items())


def total_of(counts_by_source: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of several counts. Every source is present."""
    total = dict.fromkeys(SOURCES, 0)
    for counts in counts_by_source:
        for source, number in counts.items():
            total[source] = total.get(source, 0) + number
    return total


def sources_text(counts: Mapping[str, int]) -> str:
    """Describe counts, such as `12 decisions: 10 by rules, 2 by the embedded model`."""
    parts = [f"{n:,} by {_NAMES.get(name, escape_line(name))}" for name, n in counts.items() if n]
    return f"{count(sum(counts.values()), 'decision')}: {', '.join(parts)}"


class ModelPart(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the jobs in which a model was asked."""

    turns: int
    """Calls that a model chose."""
    invalid: int
    """Answers that were not a valid call."""
    refused: int
    """Calls that were not permitted."""
    fallback: int
    """Calls taken in place of the model's."""
    requests: int
    """Requests to models."""
    tokens: int
    """Tokens of their prompts."""
    added: int
    """Findings that were left when the model's turns began, and are fixed in verified changes."""


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
        added=sum(map(_count_added, asked)),
    )


def _count_added(job: JobView) -> int:
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
