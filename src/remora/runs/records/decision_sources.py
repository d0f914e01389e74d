"""Counts of decisions by what made them. A call counts once, by who decided it."""

from collections.abc import Iterable, Mapping

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
    """Return an agent's counts by source. `provider` is that of its model."""
    own = "embedded" if provider == "embedded" else "server"
    return total_of({own if by == "model" else by: n} for by, n in decided_by.items())


def total_of(each: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of several counts. Every source is present."""
    total = dict.fromkeys(SOURCES, 0)
    for counts in each:
        for source, number in counts.items():
            total[source] = total.get(source, 0) + number
    return total


def sources_text(counts: Mapping[str, int]) -> str:
    """Describe counts, such as `12 decisions: 10 by rules, 2 by the embedded model`."""
    parts = [f"{n:,} by {_NAMES.get(name, escape_line(name))}" for name, n in counts.items() if n]
    return f"{count(sum(counts.values()), 'decision')}: {', '.join(parts)}"
