"""Determines when an agent has to stop, and totals its turns, decisions and output sizes."""

from collections import Counter
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.job import Counts, StopReason
from remora.memory.canonical import canonical
from remora.memory.events import AgentError, Event, SubmitResult
from remora.memory.packet import DecisionPacket
from remora.statuses import Status
from remora.text import count
from remora.trace.read.agent_turns import AgentTurn, EventData
from remora.trace.read.reader import decode_part

Ending = tuple[Status, StopReason, str | None]
MAX_IDENTICAL_CALLS = 3
MAX_IDLE_TURNS = 4
MAX_BAD_CALLS = 3
INVALID_CALLS = "invalid_calls"
"""Kind of the error that ends an agent after too many invalid calls."""
DECIDERS = ("rule", "model", "fallback", "escalation")
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


class StopRules:
    """Stops an agent after identical calls or four idle turns, and counts bad answers.

    A call that succeeds again, and changes nothing, ends the agent, and so do three identical calls.
    A turn is idle if a call of before succeeds again, and nothing is known or changed that was not
    before. Reading other lines of a long file is not idle.
    """

    def __init__(self) -> None:
        self._idle_turns = 0
        self.bad_calls = 0

    def after(self, before: DecisionPacket, now: DecisionPacket, *, changed: bool) -> Ending | None:
        """Return the agent's ending after a turn, or None if the agent continues.

        `changed` is true if the turn changed a file.
        """
        newest = now.recent_actions[-1] if now.recent_actions else None
        is_idle = not changed and _known(before) == _known(now)
        is_done = newest is not None and newest.outcome == "success" and is_idle
        if newest is not None and newest.count >= (2 if is_done else MAX_IDENTICAL_CALLS):
            why = f": {now.last_error}" if now.last_error else ""
            return (
                "failed",
                "repeated_call",
                f"{newest.tool} was called {count(newest.count, 'time')} with the same result{why}",
            )
        if newest is not None and newest.outcome == "error":
            return None  # the next packet shows why, so the next call may succeed
        earlier = {canonical([call.tool, call.args]) for call in before.recent_actions}
        is_again = newest is None or canonical([newest.tool, newest.args]) in earlier
        self._idle_turns = self._idle_turns + 1 if is_again and is_idle else 0
        if self._idle_turns >= MAX_IDLE_TURNS:
            return "failed", "no_progress", f"{MAX_IDLE_TURNS} turns without any change"
        return None


def error_ending(error: AgentError, rules: StopRules) -> Ending | None:
    """Return the ending after a turn without a call, or None if models may still be asked.

    `rules` counts the bad calls.
    """
    reason = f"{error.message}; {error.hint}" if error.hint else error.message
    match error.kind:
        case "packet_too_large":
            return "error", "packet_too_large", reason
        case "context_truncated" | "model_error":
            return "error", "model_error", reason
        case "tool_error":
            return "error", "tool_error", reason
        case kind if kind == INVALID_CALLS:
            return "failed", "model_error", reason
    rules.bad_calls += 1
    return None


def submission_ending(
    submitted: SubmitResult, failure: str | None, lost_model: Ending | None, *, changed: bool
) -> Ending:
    """Return the agent's ending after a submission.

    `changed` is true if the agent has changed a file. If not, `failure` may be the reason: it is
    the error of the turn before. `lost_model` is the ending that the model's failure would have been
    if rules had not completed the job.
    """
    if not changed:
        return lost_model or ("no_change", "no_change", failure)
    if not submitted.verified:
        return lost_model or ("failed", "verification", failed_check(submitted))
    if lost_model is not None:
        return "submitted", *lost_model[1:]
    return "submitted", "submitted", None


def failed_check(submitted: SubmitResult) -> str:
    """Return the name and the detail of the first check that failed."""
    return ": ".join(_failure(submitted))


def refusal(submitted: SubmitResult) -> str:
    """Return the detail of the first check that failed, for a model: it knows no check by name."""
    return _failure(submitted)[1]


def _failure(submitted: SubmitResult) -> tuple[str, str]:
    failed = next((check for check in submitted.checks if not check.get("ok")), {})
    return str(failed.get("name")), str(failed.get("detail"))


def _known(packet: DecisionPacket) -> bytes:
    facts = {key: fact.value for key, fact in packet.knowledge.items()}
    return canonical([list(packet.diagnostics), facts, packet.extensions])


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
