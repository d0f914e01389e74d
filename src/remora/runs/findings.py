"""What was wrong with nodes, by code: what a stream tells of it, what went and what stayed.

A missing or an outdated docstring is a finding like one of the linter's, and counted apart.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from remora.memory.events import Event

Codes = Mapping[str, int]
MISSING, OUTDATED = "missing docstring", "outdated docstring"
_DOCSTRINGS = frozenset((MISSING, OUTDATED))


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
    """How many lint findings verified change sets fix, and of how many: those that were `planned`, or
    more where jobs met more. What people refused does not count, nor what met a conflict. None
    where no job knows of any."""
    known = [each for each in _known(jobs) if not _codes(each) & _DOCSTRINGS]
    if not known:
        return None
    met = sum(sum(gone.values()) + sum(left.values()) for _, (gone, left) in known)
    done = sum(sum(gone.values()) for job, (gone, _) in known if counts(job))
    return done, max(planned, met)


def docstrings_of_all(jobs: Iterable[Mapping[str, Any]]) -> tuple[int, int, int] | None:
    """How many docstrings verified change sets add, how many they mend, and of how many that were
    looked at. None where no job knows of any."""
    known = [(job, pair) for job, pair in _known(jobs) if _DOCSTRINGS & _codes((job, pair))]
    if not known:
        return None
    done = Counter(code for job, (gone, _) in known if counts(job) for code in gone)
    return done[MISSING], done[OUTDATED], len(known)


_Known = tuple[Mapping[str, Any], tuple[Codes, Codes]]


def _known(jobs: Iterable[Mapping[str, Any]]) -> list[_Known]:
    """The jobs that know of findings, with what went and what stayed."""
    return [(job, pair) for job in jobs if (pair := fixed_and_left(job)) is not None]


def _codes(known: _Known) -> frozenset[str]:
    gone, left = known[1]
    return frozenset((*gone, *left))


def counts(job: Mapping[str, Any]) -> bool:
    """Whether a job's change set is in the user's files, or may come there with a yes."""
    return job["review"] in ("pending", "accepted")
