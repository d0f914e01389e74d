"""Totals of an agent's turns, decisions and output sizes."""

from collections import Counter
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.job import Counts
from remora.memory.events import Event
from remora.trace.read.agent_turns import AgentTurn, EventData
from remora.trace.read.reader import decode_part

DECIDERS = ("rule", "model", "fallback", "escalation")
"""Sources of calls."""
NO_COUNTS = Counts(decided_by=dict.fromkeys(DECIDERS, 0))


class TurnCounts:
    """Counts an agent's turns, decisions and output sizes as its events come.

    Only recorded sizes and deciders are read, because long strings may be in blobs.
    """

    def __init__(self) -> None:
        self._before = NO_COUNTS
        self._decided_by = "rule"
        self._turn = AgentTurn(number=0)

    def add(self, event: Event) -> None:
        """Count an event. Raises StreamDamaged if an event of the turn before is invalid."""
        if event.turn != self._turn.number:
            self._before, self._decided_by = self.total, [self._decided_by, *self._deciders][-1]
            self._turn = AgentTurn(number=event.turn)
        self._turn.add(event)

    @property
    def total(self) -> Counts:
        """The counts so far. Raises StreamDamaged if an event is invalid."""
        turn, before = self._turn, self._before
        results, submissions, errors = (
            [decode_part(event, EventData) for event in events]
            for events in (turn.results, turn.submissions, turn.errors)
        )
        asked = [(sent_tokens(step.event), step.reply) for step in turn.requests]
        answered = [tokens for tokens, reply in asked if reply is not None]
        deciders = self._deciders
        numbers = Counter(before.decided_by)
        numbers.update(deciders)
        refused = sum(result.outcome == "error" for result in results)
        refused += sum(not submission.verified for submission in submissions)
        is_of_model = [self._decided_by, *deciders][-1] != "rule"
        return replace(
            before,
            turns=max(before.turns, turn.number),
            decided_by=dict(numbers),
            invalid=before.invalid + sum(error.kind == "bad_call" for error in errors),
            refused=before.refused + refused * is_of_model,
            requests=before.requests + len(answered),
            sent_tokens=before.sent_tokens + sum(answered),
            max_packet_tokens=max(before.max_packet_tokens, *(tokens for tokens, _ in asked), 0),
            raw_bytes=before.raw_bytes + sum(map(raw_size, turn.results)),
        )

    @property
    def _deciders(self) -> list[str]:
        """Source of the calls of the turn."""
        return [decode_part(step.event, EventData).decided_by for step in self._turn.calls]


def sent_tokens(event: Event) -> int:
    """Return the number of tokens in a request, even if its text is stored in a blob."""
    return decode_part(event, EventData).prompt_tokens


def raw_size(event: Event) -> int:
    """Return the size in bytes of a result's raw output as JSON, including blobs."""
    raw = bytes(decode_part(event, EventData).raw_output)
    return len(raw) + (_in_blobs(msgspec.json.decode(raw)) if b'"$blob"' in raw else 0)


def _in_blobs(value: Any) -> int:
    match value:
        case {"$blob": {"bytes": int(size)}}:
            return size
        case dict():
            return sum(map(_in_blobs, value.values()))
        case list():
            return sum(map(_in_blobs, value))
    return 0
