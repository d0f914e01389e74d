"""Determines when an agent has to stop, and totals its turns, decisions and output sizes."""

from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.job import Counts, StopReason
from remora.memory.canonical import canonical
from remora.memory.events import (
    AgentError,
    Event,
    ModelRequest,
    ModelResponse,
    SubmitResult,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.statuses import Status
from remora.text import count
from remora.trace.read.reader import decode_part

Ending = tuple[Status, StopReason, str | None]
MAX_IDENTICAL_CALLS = 3
MAX_IDLE_TURNS = 4
MAX_BAD_CALLS = 3
INVALID_CALLS = "invalid_calls"
"""Kind of the error that ends an agent after too many invalid calls."""
DECIDERS = ("rule", "model", "fallback", "escalation")


class TurnCounts:
    """Counts an agent's turns, decisions and output sizes from its events.

    Only recorded sizes and deciders are read, because long strings may be in blobs.
    """

    def __init__(self) -> None:
        self.total = Counts(decided_by=dict.fromkeys(DECIDERS, 0))
        self._asked = 0
        self._decided_by = "rule"

    def add(self, event: Event) -> None:
        """Count an event. Raises StreamDamaged if the event is invalid."""
        total = self.total
        if event.type == ModelRequest.type:
            self._asked = sent_tokens(event)
            self._set(max_packet_tokens=max(total.max_packet_tokens, self._asked))
        elif event.type == ModelResponse.type:
            sent = total.sent_tokens + self._asked
            self._set(requests=total.requests + 1, sent_tokens=sent)
        elif event.type == ToolCalled.type:
            self._decided_by = by = decode_part(event, _Decided).decided_by
            self._set(decided_by={**total.decided_by, by: total.decided_by.get(by, 0) + 1})
        elif event.type == AgentError.type:
            is_invalid = decode_part(event, _Error).kind == "bad_call"
            self._set(invalid=total.invalid + is_invalid)
        elif event.type == ToolResulted.type:
            self._set(raw_bytes=total.raw_bytes + raw_size(event))
            self._refuse(decode_part(event, _Outcome).outcome == "error")
        elif event.type == SubmitResult.type:
            self._refuse(not decode_part(event, _Verified).verified)
        if event.turn > total.turns:
            self._set(turns=event.turn)

    def _refuse(self, is_refused: bool) -> None:
        if is_refused and self._decided_by != "rule":
            self._set(refused=self.total.refused + 1)

    def _set(self, **counts: Any) -> None:
        self.total = replace(self.total, **counts)


class StopRules:
    """Stops an agent after identical calls or four idle turns, and counts bad answers.

    A call that succeeds again, and changes nothing, ends the agent, and so do three identical calls.
    A turn is idle if a call of before succeeds again, and nothing is known or changed that was not
    before. Reading other lines of a long file is not idle.
    """

    def __init__(self) -> None:
        self._idle_turns = 0
        self.bad_calls = 0

    def good_call(self) -> None:
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


class _Decided(msgspec.Struct):
    decided_by: str = "rule"


class _Error(msgspec.Struct):
    kind: str


class _Outcome(msgspec.Struct):
    outcome: str = "success"


class _Verified(msgspec.Struct):
    verified: bool = False


class _Raw(msgspec.Struct):
    raw_output: msgspec.Raw = msgspec.Raw(b"")


class _Sent(msgspec.Struct):
    prompt_tokens: int = 0


def sent_tokens(event: Event) -> int:
    """Return the number of tokens in a request, even if its text is stored in a blob."""
    return decode_part(event, _Sent).prompt_tokens


def raw_size(event: Event) -> int:
    """Return the size in bytes of a result's raw output as JSON, including blobs."""
    raw = bytes(decode_part(event, _Raw).raw_output)
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
