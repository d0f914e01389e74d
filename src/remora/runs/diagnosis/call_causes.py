"""Failures of a call: a tool that crashed or refused, a wrong choice, a loop, a failed check."""

import re
from collections.abc import Iterable

from remora.runs.diagnosis.agent_history import AgentHistory, HostCallRecord, ToolOutcome, Turn
from remora.runs.diagnosis.cause import Cause, Evidence, Kind, Rule, quoted
from remora.runs.diagnosis.failure import (
    Failure,
    Repeated,
    arguments_at,
    call_text,
    repeated_calls,
)
from remora.runs.diagnosis.output_texts import plain_text
from remora.runs.diagnosis.packet_places import listed_in_schema

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
    late = next((one for one in result.host_calls if _is_late(one)), None)
    if late is None and not (result.error_kind == "limit" and _TIME.search(result.error)):
        return None
    what = result.tool if late is None else f"{late.name} in {result.tool}"
    return _result_cause("time_out", f"Time-out of {what}", failure, result)


def _is_late(call: HostCallRecord) -> bool:
    return bool(call.error) and _TIME.search(plain_text(call.error)) is not None


def refused_edit(_history: AgentHistory, failure: Failure) -> Cause | None:
    """A change of a file was refused: the line is not as expected, or it has a secret in it."""
    result = failure.result
    if result is None:
        return None
    refused = next(
        (one for one in reversed(result.host_calls) if one.error and _WRITES.match(one.name)), None
    )
    if refused is not None:
        why = _PREFIX.sub("", plain_text(refused.error))
        return _result_cause("refused_edit", "The edit was refused", failure, result, why)
    if result.error_kind == "denied":
        return _result_cause("refused_edit", "The edit was refused", failure, result)
    return None


def tool_crash(_history: AgentHistory, failure: Failure) -> Cause | None:
    """The script of a tool raised an exception, or exceeded a limit."""
    result = failure.result
    if result is None or result.error_kind not in _CRASHES:
        return None
    what = "exceeded a limit" if result.error_kind == "limit" else "crashed"
    return _result_cause("tool_crash", f"{result.tool} {what}", failure, result)


def argument_not_in_packet(history: AgentHistory, failure: Failure) -> Cause | None:
    """The model made a value up: it occurs nowhere in the packet."""
    turn, call = failure.turn, failure.turn.call
    if call is None or not turn.asked_model or failure.ends_without_error:
        return None
    for one in arguments_at(history, failure.turn):
        known = one.in_packet or one.written or listed_in_schema(call, one.name, history.tools)
        if known:
            continue
        value = f"{one.name}={one.value}"
        return Cause(
            kind="argument_not_in_packet",
            turn=turn.number,
            sentence=f"The model called {call.tool} at turn {turn.number} with {value}, which was "
            f"nowhere in its packet: {quoted(failure.message)}",
            evidence=_decision(history, failure),
        )
    return None


def wrong_choice(history: AgentHistory, failure: Failure) -> Cause | None:
    """The model saw all that its call needed, and another call was possible."""
    turn, call = failure.turn, failure.turn.call
    if call is None or not turn.asked_model or failure.ends_without_error:
        return None
    number = len(turn.offered) or len(history.tools)
    if number < 2:
        return None
    kinds = "candidate actions" if turn.offered else "tools"
    evidence = _decision(history, failure)
    if call.decided_by == "fallback":
        return Cause(
            kind="undecided",
            turn=turn.number,
            sentence=f"The model did not decide at turn {turn.number}, so the first of {number} "
            f"candidates was taken, {call_text(call)}: {quoted(failure.message)}",
            evidence=evidence,
        )
    return Cause(
        kind="wrong_choice",
        turn=turn.number,
        sentence=f"Wrong choice at turn {turn.number}: the model had the facts, and chose "
        f"{call_text(call)} from {number} {kinds}; {quoted(failure.message)}",
        evidence=evidence,
    )


def tool_error(_history: AgentHistory, failure: Failure) -> Cause | None:
    """A tool that rules called reported an error."""
    result = failure.result
    if result is None:
        return None
    return _result_cause("tool_error", f"{result.tool} reported an error", failure, result)


def loop(history: AgentHistory, failure: Failure) -> Cause | None:
    """The agent made the same call again and again, or calls that changed nothing."""
    repeated = repeated_calls(history)
    if repeated is not None and failure.stop_reason in ("repeated_call", "max_turns", ""):
        return _repeats(history, repeated)
    if failure.stop_reason not in ("no_progress", "repeated_call"):
        return None
    turn = failure.turn
    return Cause(
        kind="loop",
        turn=turn.number,
        sentence=f"Loop: the calls up to turn {turn.number} changed nothing: "
        f"{quoted(failure.message)}",
        evidence=_calls_in([one for one in history.turns if one.call is not None][-4:]),
    )


def _repeats(history: AgentHistory, repeated: Repeated) -> Cause:
    first, last = repeated.turns[0], repeated.turns[-1]
    looping = [one for one in history.turns if first <= one.number <= last and one.call is not None]
    others = [one for one in looping if one.number not in repeated.turns]
    texts = {call_text(one.call) for one in others if one.call is not None}
    between = ""
    if len(texts) == 1 and len(others) > 1:
        numbers = ", ".join(str(one.number) for one in others[:8])
        between = f" and {texts.pop()} between them (turns {numbers})"
    turns = ", ".join(map(str, repeated.turns[:8]))
    return Cause(
        kind="loop",
        turn=last,
        sentence=f"Loop: the agent called {repeated.args} {len(repeated.turns)} times "
        f"(turns {turns}){between}, without progress",
        evidence=_calls_in(looping[:6]),
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


def no_actions(history: AgentHistory, failure: Failure) -> Cause | None:
    """The candidates script offered nothing to do."""
    turn = history.turns[-1]
    if turn.call is not None or turn.problem is not None or not failure.message:
        return None
    return Cause(
        kind="no_actions",
        turn=turn.number,
        sentence=f"No action was offered at turn {turn.number}: {quoted(failure.message)}",
        evidence=(Evidence(turn.number, None, quoted(failure.message)),),
    )


def _result_cause(
    kind: Kind, what: str, failure: Failure, result: ToolOutcome, why: str = ""
) -> Cause:
    turn, call = failure.turn, failure.turn.call
    made = f", called as {call_text(call)}" if call is not None and call.args else ""
    evidence = [Evidence(turn.number, result.seq, f"{result.tool}: {quoted(result.error)}")]
    evidence += [
        Evidence(turn.number, result.seq, f"{one.name}: {quoted(plain_text(one.error))}")
        for one in result.host_calls
        if one.error
    ][-2:]
    return Cause(
        kind=kind,
        turn=turn.number,
        sentence=f"{what} at turn {turn.number}{made}: {quoted(why or result.error)}",
        evidence=tuple(evidence),
    )


def _decision(history: AgentHistory, failure: Failure) -> tuple[Evidence, ...]:
    """Return what a model decided, and what its call led to."""
    turn, call, result = failure.turn, failure.turn.call, failure.result
    if call is None:
        return ()
    found = [Evidence(turn.number, call.seq, f"{call_text(call)}, decided by {call.decided_by}")]
    reason = _reason_of(failure)
    if reason:
        found.append(Evidence(turn.number, None, f"the candidate's reason: {quoted(reason)}"))
    if result is not None:
        text = f"{result.tool}: {quoted(result.error)}"
        found.append(Evidence(turn.number, result.seq, text))
    elif history.submission is not None:
        text = quoted(failure.message)
        found.append(Evidence(history.submission.turn, history.submission.seq, text))
    return tuple(found)


def _reason_of(failure: Failure) -> str:
    """Return the reason with which the call of the failure was offered, if it was."""
    call = failure.turn.call
    for one in failure.turn.offered if call is not None else ():
        if call is not None and (one.tool, one.args) == (call.tool, call.args):
            return one.reason
    return ""


CALL_RULES: tuple[Rule, ...] = (
    tool_timed_out,
    refused_edit,
    tool_crash,
    argument_not_in_packet,
    wrong_choice,
    tool_error,
    loop,
    check_failed,
    no_actions,
)
"""Rules for calls, most certain first."""
