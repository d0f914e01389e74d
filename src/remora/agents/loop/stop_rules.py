"""Determines when an agent has to stop."""

from remora.agents.job import StopReason
from remora.memory.canonical import canonical
from remora.memory.events import AgentError, SubmitResult
from remora.memory.packet import DecisionPacket
from remora.statuses import Status
from remora.text import count

Ending = tuple[Status, StopReason, str | None]
"""The status of an agent that ended, why, and the reason in words for users."""
MAX_IDENTICAL_CALLS = 3
"""Identical calls that end an agent (decision)."""
MAX_IDLE_TURNS = 4
"""Idle turns in a row that end an agent (decision)."""
MAX_BAD_CALLS = 3
"""Invalid calls in a row after which the model is not asked again (decision)."""
INVALID_CALLS = "invalid_calls"
"""Kind of the error that ends an agent after too many invalid calls."""


class StopRules:
    """Stops an agent after identical calls or four idle turns, and counts bad answers.

    A call that succeeds again without a change ends the agent, and so does the third identical call.
    A turn is idle if it repeats an earlier successful call and adds no fact, diagnostic or change.
    Reading other lines of a long file is not idle.
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

    def after_error(self, error: AgentError) -> Ending | None:
        """Return the ending after a turn without a call, or None if models may still be asked.

        Bad calls are counted.
        """
        reason = f"{error.message}; {error.hint}" if error.hint else error.message
        match error.kind:
            case "packet_too_large" | "tool_error" as kind:
                return "error", kind, reason
            case "context_truncated" | "model_error":
                return "error", "model_error", reason
            case kind if kind == INVALID_CALLS:
                return "failed", "model_error", reason
        self.bad_calls += 1
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
