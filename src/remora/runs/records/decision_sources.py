"""Counts of decisions by what made them, from an agent's events.

A call counts once, by who decided it. If a tool reports what chose each of its texts (`chosen`, as
`write_annotations` does for types), these count instead of the call.
"""

from collections.abc import Iterable, Mapping

import msgspec

from remora.memory.events import AgentStart, Event, ToolCalled, ToolResulted
from remora.text import count, escape_line
from remora.trace.read.reader import decode_part

SOURCES = ("rule", "ranker", "checker", "embedded", "server", "escalation", "fallback")
"""A rule, the ranker of types, the type checker, the embedded model, a server, the larger model, or
the first suggestion after invalid calls of a model."""
_NAMES = {
    "rule": "rules",
    "ranker": "the ranker of types",
    "checker": "the type checker",
    "embedded": "the embedded model",
    "server": "the model server",
    "escalation": "the larger model",
    "fallback": "fallback, because a model failed",
}


class DecisionSources:
    """Counts the decisions of one agent. Every source is present, with 0 if it decided nothing."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(SOURCES, 0)
        self._own = "server"
        self._last = ""

    def add(self, event: Event) -> None:
        """Count an event. Raises StreamDamaged if the event is invalid."""
        if event.type == AgentStart.type:
            is_embedded = decode_part(event, _Start).model.provider == "embedded"
            self._own = "embedded" if is_embedded else "server"
        elif event.type == ToolCalled.type:
            decider = decode_part(event, _Decided).decided_by
            self._last = self._own if decider == "model" else decider
            self._count(self._last, 1)
        elif event.type == ToolResulted.type:
            self._split(bytes(decode_part(event, _Resulted).parsed_output))

    def _split(self, output: bytes) -> None:
        """Count the texts that a tool chose instead of its call."""
        if b'"chosen":' not in output:
            return
        try:
            chosen = msgspec.json.decode(output, type=_Output).chosen
        except msgspec.ValidationError:  # another tool's key of this name
            return
        if chosen:
            self._count(self._last, -1)
        for each in chosen:
            self._count(each.source, 1)

    def _count(self, source: str, number: int) -> None:
        self.counts[source] = self.counts.get(source, 0) + number


def total_of(each: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of the counts of several agents."""
    total = dict.fromkeys(SOURCES, 0)
    for counts in each:
        for source, number in counts.items():
            total[source] = total.get(source, 0) + number
    return total


def sources_text(counts: Mapping[str, int]) -> str:
    """Describe counts, such as `12 decisions: 10 by rules, 2 by the embedded model`."""
    parts = [f"{n:,} by {_NAMES.get(name, escape_line(name))}" for name, n in counts.items() if n]
    return f"{count(sum(counts.values()), 'decision')}: {', '.join(parts)}"


class _Model(msgspec.Struct, frozen=True):
    provider: str = ""


class _Start(msgspec.Struct):
    model: _Model = _Model()


class _Decided(msgspec.Struct):
    decided_by: str = "rule"


class _Resulted(msgspec.Struct):
    parsed_output: msgspec.Raw = msgspec.Raw(b"null")


class _Chosen(msgspec.Struct):
    source: str


class _Output(msgspec.Struct):
    chosen: tuple[_Chosen, ...] = ()
