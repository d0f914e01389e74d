"""Lint findings by code: what a stream tells of them, which went and which stayed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from remora.memory.events import Event

Codes = Mapping[str, int]


def known_findings(event: Event) -> dict[str, int] | None:
    """What a tool's result let the packet know of its node's findings; None for other results."""
    known = event.packet_delta.update_knowledge if event.packet_delta is not None else None
    counts = known.get("findings") if isinstance(known, dict) else None
    if not isinstance(counts, dict) or not all(isinstance(n, int) for n in counts.values()):
        return None
    return counts


def fixed(before: Codes, after: Codes) -> dict[str, int]:
    """Those of `before` that `after` does not have any more."""
    return dict(Counter(before) - Counter(after))


def fixed_and_left(job: Mapping[str, Any]) -> tuple[Codes, Codes] | None:
    """Of a job's document: what its change set fixes, and what stays with or without it.

    Only a verified change set fixes anything. None where nothing is known of findings.
    """
    found = job["findings"]
    if found is None:
        return None
    if job["status"] != "submitted":
        return {}, found["before"]
    return fixed(found["before"], found["after"]), found["after"]


def fixed_of_all(jobs: Iterable[Mapping[str, Any]], planned: int) -> tuple[int, int] | None:
    """How many findings verified change sets fix, and of how many: those that were `planned`, or
    more where jobs met more. What people refused does not count, nor what met a conflict. None
    where no job knows of any."""
    known = [(job, pair) for job in jobs if (pair := fixed_and_left(job)) is not None]
    if not known:
        return None
    met = sum(sum(gone.values()) + sum(left.values()) for _, (gone, left) in known)
    done = sum(sum(gone.values()) for job, (gone, _) in known if counts(job))
    return done, max(planned, met)


def counts(job: Mapping[str, Any]) -> bool:
    """Whether a job's change set is in the user's files, or may come there with a yes."""
    return job["review"] in ("pending", "accepted")
