"""Failures of the model and of its server, which the stream records as errors of turns."""

import re

from remora.runs.diagnosis.agent_history import AgentHistory, Request, Turn, TurnProblem
from remora.runs.diagnosis.cause import Cause, Evidence, Kind, Rule, quoted
from remora.runs.diagnosis.failure import Failure

_TIMED_OUT = re.compile(r"did not respond within|timed out")
_CUT = "length"
"""The reason that servers give for an answer that reached its limit."""


def context_truncated(history: AgentHistory, _failure: Failure) -> Cause | None:
    """The server read only a part of the prompt."""
    found = _problem(history, "context_truncated")
    if found is None:
        return None
    turn, problem = found
    asked = turn.request
    evidence = [Evidence(turn.number, problem.seq, quoted(problem.message))]
    sentence = f"The model server truncated the context of turn {turn.number}"
    if asked is not None and asked.read_tokens is not None:
        sentence = (
            f"The model server says that it read only {asked.read_tokens:,} of about "
            f"{asked.prompt_tokens:,} prompt tokens of turn {turn.number}: its context is too "
            "small, or it counts wrongly; the answer was not used"
        )
        text = f"the request has about {asked.prompt_tokens:,} tokens"
        evidence.append(Evidence(turn.number, asked.seq, text))
    return Cause(
        kind="context_truncated",
        turn=turn.number,
        sentence=sentence,
        evidence=tuple(evidence),
    )


def packet_too_large(history: AgentHistory, _failure: Failure) -> Cause | None:
    """Not even the smallest packet fits the budget."""
    found = _problem(history, "packet_too_large")
    if found is None:
        return None
    turn, problem = found
    return Cause(
        kind="budget_dropped",
        turn=turn.number,
        sentence=f"The packet of turn {turn.number} does not fit the budget, even with everything "
        f"dropped that may be dropped: {quoted(problem.message)}",
        evidence=(Evidence(turn.number, problem.seq, quoted(problem.message)),),
    )


def model_timed_out(history: AgentHistory, _failure: Failure) -> Cause | None:
    """The model server did not answer in time."""
    found = _problem(history, "model_error")
    if found is None or not _TIMED_OUT.search(found[1].message):
        return None
    return _model_cause("time_out", f"Time-out at turn {found[0].number}", *found)


def answer_truncated(history: AgentHistory, _failure: Failure) -> Cause | None:
    """The server ended an answer at its limit, so that the call in it is incomplete."""
    found = _problem(history, "bad_call") or _problem(history, "no_answer")
    if found is None:
        return None
    turn, problem = found
    asked: Request | None = turn.request
    if asked is None or asked.finish_reason != _CUT:
        return None
    size = "" if asked.answer_tokens is None else f" after {asked.answer_tokens:,} tokens"
    return Cause(
        kind="answer_truncated",
        turn=turn.number,
        sentence=f"The model server cut the answer of turn {turn.number} off{size}, "
        f"so it is not a valid call: {quoted(problem.message)}",
        evidence=(Evidence(turn.number, problem.seq, quoted(problem.message)),),
    )


def model_failed(history: AgentHistory, _failure: Failure) -> Cause | None:
    """The model server cannot be reached, or refused the request."""
    found = _problem(history, "model_error")
    if found is None:
        return None
    return _model_cause("model_failed", f"The model failed at turn {found[0].number}", *found)


def bad_answer(history: AgentHistory, _failure: Failure) -> Cause | None:
    """No answer of the model was a valid call."""
    found = _problem(history, "bad_call")
    if found is None:
        found = _problem(history, "no_answer")
    if found is None:
        return None
    turn, problem = found
    return Cause(
        kind="bad_answer",
        turn=turn.number,
        sentence=f"The model's answer at turn {turn.number} could not be used: "
        f"{quoted(problem.message)}",
        evidence=(Evidence(turn.number, problem.seq, quoted(problem.message)),),
    )


def internal_error(history: AgentHistory, _failure: Failure) -> Cause | None:
    """The agent could not continue, for example because of a full disk."""
    found = _problem(history, "tool_error")
    if found is None:
        return None
    turn, problem = found
    return Cause(
        kind="internal_error",
        turn=turn.number,
        sentence=f"The agent could not continue after turn {turn.number}: "
        f"{quoted(problem.message)}",
        evidence=_with_hint(turn, problem),
    )


def _model_cause(kind: Kind, what: str, turn: Turn, problem: TurnProblem) -> Cause:
    return Cause(
        kind=kind,
        turn=turn.number,
        sentence=f"{what}: {quoted(problem.message)}",
        evidence=_with_hint(turn, problem),
    )


def _with_hint(turn: Turn, problem: TurnProblem) -> tuple[Evidence, ...]:
    hint = f"; {problem.hint}" if problem.hint else ""
    return (Evidence(turn.number, problem.seq, quoted(problem.message) + hint),)


def _problem(history: AgentHistory, kind: str) -> tuple[Turn, TurnProblem] | None:
    """Return the last error of a kind, unless a later turn was decided by a model."""
    for turn in reversed(history.turns):
        if turn.problem is not None:
            return (turn, turn.problem) if turn.problem.kind == kind else None
        if turn.call is not None and turn.call.decided_by in ("model", "escalation"):
            return None
    return None


MODEL_RULES: tuple[Rule, ...] = (
    context_truncated,
    packet_too_large,
    model_timed_out,
    answer_truncated,
    model_failed,
    internal_error,
)
"""Rules for errors that leave no doubt, most certain first."""
