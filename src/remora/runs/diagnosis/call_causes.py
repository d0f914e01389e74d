"""Failures of a call: a tool that crashed or refused, a wrong choice, a loop, a failed check."""

import re
from collections.abc import Iterable

from remora.runs.diagnosis.agent_history import AgentHistory, HostCallRecord, Turn
from remora.runs.diagnosis.failure import (
    Cause,
    Evidence,
    Failure,
    Kind,
    Rule,
    call_text,
    quoted,
    repeated_calls,
)
from remora.runs.diagnosis.output_texts import plain_text

_WRITES = re.compile(r"edit|write|apply|fix|annotate")
"""Names of the host functions that change files begin with one of these words."""
_TIME = re.compile(r"TimeoutError|\bseconds\b|did not finish|timed out|in time\b")
_CRASHES = frozenset({"runtime", "crashed", "typing", "syntax", "contract", "limit"})
_PREFIX = re.compile(r"^\w+: ")


def tool_timed_out(_history: AgentHistory, failure: Failure) -> Cause | None:
    """A tool did not finish in time."""
    result = failure.result
    if result is None:
        return None
    late = next((one for one in result.host_calls if _TIME.search(_error_of(one))), None)
    if late is None and not (result.error_kind == "limit" and _TIME.search(result.error)):
        return None
    what = result.tool if late is None else f"{late.name} in {result.tool}"
    return _result_cause("time_out", f"Time-out of {what}", failure)


def refused_edit(_history: AgentHistory, failure: Failure) -> Cause | None:
    """A change of a file was refused: the line is not as expected, or it has a secret in it."""
    calls = failure.result.host_calls if failure.result is not None else ()
    errors = [_error_of(one) for one in calls if one.error and _WRITES.match(one.name)]
    if errors or (failure.result is not None and failure.result.error_kind == "denied"):
        why = _PREFIX.sub("", errors[-1]) if errors else ""
        return _result_cause("refused_edit", "The edit was refused", failure, why)
    return None


def tool_crash(_history: AgentHistory, failure: Failure) -> Cause | None:
    """The script of a tool raised an exception, or exceeded a limit."""
    result = failure.result
    if result is None or result.error_kind not in _CRASHES:
        return None
    what = "exceeded a limit" if result.error_kind == "limit" else "crashed"
    return _result_cause("tool_crash", f"{result.tool} {what}", failure)


def wrong_choice(history: AgentHistory, failure: Failure) -> Cause | None:
    """The model saw all that its call needed, and another call was possible."""
    turn, call = failure.turn, failure.turn.call
    number = len(turn.offered) or len(history.tools)
    if call is None or not turn.asked_model or failure.ends_without_error or number < 2:
        return None
    kinds = "candidate actions" if turn.offered else "tools"
    evidence = [Evidence(turn.number, call.seq, f"{call_text(call)}, decided by {call.decided_by}")]
    evidence += [
        Evidence(turn.number, None, f"the candidate's reason: {quoted(one.reason)}")
        for one in turn.offered
        if (one.tool, one.args) == (call.tool, call.args) and one.reason
    ][:1]
    if failure.result is not None:
        text = f"{failure.result.tool}: {quoted(failure.result.error)}"
        evidence.append(Evidence(turn.number, failure.result.seq, text))
    elif history.submission is not None:
        text = quoted(failure.message)
        evidence.append(Evidence(history.submission.turn, history.submission.seq, text))
    return Cause(
        kind="wrong_choice",
        turn=turn.number,
        sentence=f"Wrong choice at turn {turn.number}: the model had the facts, and chose "
        f"{call_text(call)} from {number} {kinds}; {quoted(failure.message)}",
        evidence=tuple(evidence),
    )


def tool_error(_history: AgentHistory, failure: Failure) -> Cause | None:
    """A tool that rules called reported an error."""
    if failure.result is None:
        return None
    return _result_cause("tool_error", f"{failure.result.tool} reported an error", failure)


def loop(history: AgentHistory, failure: Failure) -> Cause | None:
    """The agent made the same call again and again, or calls that changed nothing."""
    repeated = repeated_calls(history)
    if repeated is not None and failure.stop_reason in ("repeated_call", "max_turns", ""):
        first, last = repeated.turns[0], repeated.turns[-1]
        looping = [one for one in history.turns if first <= one.number <= last]
        return Cause(
            kind="loop",
            turn=last,
            sentence=f"Loop: the agent called {repeated.call} {len(repeated.turns)} times "
            f"(turns {', '.join(map(str, repeated.turns[:8]))}), without progress",
            evidence=_calls_in(looping)[:6],
        )
    if failure.stop_reason not in ("no_progress", "repeated_call"):
        return None
    turn = failure.turn
    return Cause(
        kind="loop",
        turn=turn.number,
        sentence=f"Loop: the calls up to turn {turn.number} changed nothing: "
        f"{quoted(failure.message)}",
        evidence=_calls_in(history.turns)[-4:],
    )


def _calls_in(turns: Iterable[Turn]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(one.number, one.call.seq, call_text(one.call))
        for one in turns
        if one.call is not None
    )


def check_failed(history: AgentHistory, failure: Failure) -> Cause | None:
    """A check refused what rules had changed."""
    if not failure.check:
        return None
    turn, call = failure.turn, failure.turn.call
    seq = history.submission.seq if history.submission is not None else None
    done = f"the change of turn {turn.number}"
    evidence = [Evidence(history.turns[-1].number, seq, quoted(failure.message))]
    if call is not None:
        done += f" ({call_text(call)}, decided by {call.decided_by})"
        evidence.append(Evidence(turn.number, call.seq, call_text(call)))
    detail = failure.message.removeprefix(f"{failure.check}: ")
    return Cause(
        kind="check_failed",
        turn=turn.number,
        sentence=f"The check {failure.check} refused {done}: {quoted(detail)}",
        evidence=tuple(evidence),
    )


def _result_cause(kind: Kind, what: str, failure: Failure, why: str = "") -> Cause:
    turn, call, result = failure.turn, failure.turn.call, failure.result
    assert result is not None  # it reported an error
    made = f", called as {call_text(call)}" if call is not None and call.args else ""
    text = quoted(result.error or result.summary or "; ".join(result.reported))
    evidence = [Evidence(turn.number, result.seq, f"{result.tool}: {text}")]
    evidence += [
        Evidence(turn.number, result.seq, f"{one.name}: {quoted(_error_of(one))}")
        for one in result.host_calls
        if one.error
    ][-2:]
    return Cause(
        kind=kind,
        turn=turn.number,
        sentence=f"{what} at turn {turn.number}{made}: {quoted(why) if why else text}",
        evidence=tuple(evidence),
    )


def _error_of(call: HostCallRecord) -> str:
    return plain_text(call.error)


CALL_RULES: tuple[Rule, ...] = (
    tool_timed_out,
    refused_edit,
    tool_crash,
    wrong_choice,
    tool_error,
    loop,
    check_failed,
)
"""Rules for calls, most certain first."""
