"""Failures of the model and of its server, which the stream records as errors of turns."""

import re

from remora.agents.loop.stop_rules import INVALID_CALLS
from remora.runs.diagnosis.agent_history import AgentHistory, Turn, TurnProblem
from remora.runs.diagnosis.failure import Cause, Evidence, Failure, Kind, quoted

_TIMED_OUT = re.compile(r"did not respond within|timed out")
_CAUSES: dict[str, tuple[Kind, str]] = {
    "context_truncated": ("context_truncated", "The model server truncated the context of turn {}"),
    "packet_too_large": (
        "budget_dropped",
        "The packet of turn {} does not fit the budget, even with everything dropped that may be "
        "dropped",
    ),
    "model_error": ("model_failed", "The model failed at turn {}"),
    "tool_error": ("internal_error", "The agent could not continue after turn {}"),
}
"""The cause of each kind of error, and the beginning of its sentence."""


def recorded_error(history: AgentHistory, _failure: Failure) -> Cause | None:
    """An error of a turn that leaves no doubt."""
    turn, problem = _last_problem(history)
    if turn is None or problem is None or problem.kind not in _CAUSES:
        return None
    kind, beginning = _CAUSES[problem.kind]
    if problem.kind == "model_error" and _TIMED_OUT.search(problem.message):
        kind, beginning = "time_out", "Time-out at turn {}"
    sentence = f"{beginning.format(turn.number)}: {quoted(problem.message)}"
    asked = turn.request
    if kind == "context_truncated" and asked is not None and asked.read_tokens is not None:
        sentence = (
            f"The model server says that it read only {asked.read_tokens:,} of about "
            f"{asked.prompt_tokens:,} prompt tokens of turn {turn.number}: its context is too "
            "small, or it counts wrongly; the answer was not used"
        )
    return _cause(kind, sentence, turn, problem)


def bad_answer(history: AgentHistory, _failure: Failure) -> Cause | None:
    """No answer of the model was a valid call."""
    turn, problem = _last_problem(history)
    if turn is None or problem is None or problem.kind not in ("bad_call", INVALID_CALLS):
        return None
    sentence = f"The model's answer at turn {turn.number} could not be used"
    return _cause("bad_answer", f"{sentence}: {quoted(problem.message)}", turn, problem)


def _cause(kind: Kind, sentence: str, turn: Turn, problem: TurnProblem) -> Cause:
    hint = f"; {problem.hint}" if problem.hint else ""
    evidence = Evidence(turn.number, problem.seq, quoted(problem.message) + hint)
    return Cause(kind=kind, turn=turn.number, sentence=sentence, evidence=(evidence,))


def _last_problem(history: AgentHistory) -> tuple[Turn, TurnProblem] | tuple[None, None]:
    """Return the last error of a turn, unless a later turn was decided by a model."""
    for turn in reversed(history.turns):
        if turn.problem is not None:
            return turn, turn.problem
        if turn.call is not None and turn.call.decided_by in ("model", "escalation"):
            break
    return None, None
