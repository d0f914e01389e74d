"""What a runner keeps count of: decisions, sizes, and the signs that it should stop."""

from typing import Any

import msgspec

from remora.agents.decide import Decision
from remora.agents.job import Status, StopReason
from remora.memory.canonical import canonical
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.trace.reader import part

Ending = tuple[Status, StopReason, str | None]
MAX_IDENTICAL_CALLS = 3
MAX_IDLE_TURNS = 4
MAX_BAD_CALLS = 2
DECIDERS = ("rule", "model", "fallback", "escalation")


class Tally:
    """Counts over a run; only `asked` decisions could have gone another way."""

    def __init__(self) -> None:
        self.turns = 0
        self.decided_by = dict.fromkeys(DECIDERS, 0)
        self.asked = 0
        self.differed = 0
        self.max_packet_tokens = 0
        self.raw_bytes = 0

    def count(self, decision: Decision) -> None:
        """Take a decision into account."""
        self.decided_by[decision.decided_by] += 1
        if decision.asked:
            self.asked += 1
            self.differed += decision.choice not in (None, 0)


class Watch:
    """The stop rules: the same call thrice, four idle turns, two bad answers in a row."""

    def __init__(self) -> None:
        self._idle_turns = 0
        self._bad_calls = 0

    def good_call(self) -> None:
        """The answer was a valid call."""
        self._bad_calls = 0

    def bad_call(self) -> bool:
        """The answer was none; true if it was one too many."""
        self._bad_calls += 1
        return self._bad_calls >= MAX_BAD_CALLS

    def after(self, before: DecisionPacket, now: DecisionPacket, *, changed: bool) -> Ending | None:
        """The ending that a turn calls for, if any. `changed`: it changed a file."""
        newest = now.recent_actions[-1] if now.recent_actions else None
        if newest is not None and newest.count >= MAX_IDENTICAL_CALLS:
            why = f": {now.last_error}" if now.last_error else ""
            return "failed", "repeated_call", f"{newest.tool} came to the same thrice{why}"
        idle = not changed and _known(before) == _known(now)
        self._idle_turns = self._idle_turns + 1 if idle else 0
        if self._idle_turns >= MAX_IDLE_TURNS:
            return "failed", "no_progress", f"{MAX_IDLE_TURNS} turns changed nothing"
        return None


def _known(packet: DecisionPacket) -> bytes:
    facts = {key: fact.value for key, fact in packet.knowledge.items()}
    return canonical([list(packet.diagnostics), facts])


class _Raw(msgspec.Struct):
    raw_output: msgspec.Raw = msgspec.Raw(b"")


class _Sent(msgspec.Struct):
    prompt_tokens: int = 0


def sent_tokens(event: Event) -> int:
    """The tokens of a request, also of one whose text was moved to a blob."""
    return part(event, _Sent).prompt_tokens


def raw_size(event: Event) -> int:
    """Bytes of a result's raw output as JSON; what was moved to blobs counts in full."""
    raw = bytes(part(event, _Raw).raw_output)
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
