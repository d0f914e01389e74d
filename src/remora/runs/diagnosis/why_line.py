"""The why line of an agent: one sentence that says what failed, where, and what its packet lost."""

from collections import Counter
from contextlib import suppress

import msgspec

from remora.agents.loop.stop_rules import INVALID_CALLS
from remora.errors import NotFound, StreamDamaged, UsageError
from remora.memory.events import AgentEnd, Event, Review
from remora.runs.diagnosis.agent_history import AgentHistory, Turn
from remora.runs.diagnosis.packet_loss import (
    Cause,
    CauseKind,
    Evidence,
    Failure,
    budget_dropped,
    failure_of,
    quoted,
    summary_lost,
)
from remora.runs.diagnosis.texts import Place, dropped_parts
from remora.statuses import CONFLICT, INTERRUPTED, RUNNING, VERIFIED, WITH_RESULT
from remora.text import count
from remora.trace.read.reader import is_being_written, read_events, typed_payload
from remora.trace.read.state_at import HINT
from remora.trace.trace_folder import TraceFolder

_LOOPING = 3
"""Equal calls that make a loop."""
_PROBLEMS: dict[str, tuple[CauseKind, str]] = {
    "context_truncated": ("context_truncated", "The model server truncated the context of turn {}"),
    "packet_too_large": ("budget_dropped", "The smallest packet of turn {} does not fit the limit"),
    "model_error": ("model_failed", "The model failed at turn {}"),
    "tool_error": ("internal_error", "The agent could not continue after turn {}"),
    "bad_call": ("bad_answer", "The model's answer at turn {} could not be used"),
    INVALID_CALLS: ("bad_answer", "The model's answer at turn {} could not be used"),
}
"""The cause of each kind of error that ends a turn, and the beginning of its sentence."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent failed.

    `dropped` is what the budget removed from the packet of the cause's turn, and `look_at` the turn
    whose packet shows most.
    """

    agent_id: str
    run_id: str
    operation: str
    node_id: str
    status: str
    stop_reason: str | None
    turns: int
    look_at: int
    cause: Cause
    dropped: tuple[Place, ...]


def why(folder: TraceFolder, agent_id: str) -> Diagnosis:
    """Return why an agent failed, from its stream and the last verdict in its run's stream.

    Raises NotFound if there is no such agent, UsageError if it is a run, and StreamDamaged if its
    stream is empty or damaged.
    """
    path = folder.find_agent(agent_id)
    if path is None and folder.find_run(agent_id) is not None:
        hint = f"`remora show {agent_id}` lists its jobs; name one of their agents"
        raise UsageError(f"{agent_id} is a run, not an agent", hint=hint)
    path = folder.existing_agent(agent_id)
    is_written, history = is_being_written(path), AgentHistory(read_events(path))
    if history.first is None:
        raise StreamDamaged(f"{agent_id}: the stream is empty", hint=HINT)
    is_verified = history.end is not None and history.end.status == VERIFIED
    review = _last_review(folder, history.first) if is_verified else None
    return diagnosis_of(history, review, is_written=is_written)


def diagnosis_of(
    history: AgentHistory, review: Review | None = None, *, is_written: bool = False
) -> Diagnosis:
    """Return why an agent failed, from its folded events and the last verdict on it.

    Raises StreamDamaged if their data is nested too deeply.
    """
    first, end = history.first, history.end
    assert first is not None  # callers have checked
    last = history.turns[-1].number if history.turns else 0
    try:
        cause = _cause(history, review, is_written=is_written)
        blamed = (one.state for one in history.turns if one.number == cause.turn)
        dropped = [part for one in blamed for part in dropped_parts(one.packet, one.shown())]
    except RecursionError as error:
        text = f"{first.agent_id}: the data of an event is nested too deeply"
        raise StreamDamaged(text, hint=HINT) from error
    return Diagnosis(
        agent_id=first.agent_id,
        run_id=first.run_id,
        operation=first.operation,
        node_id=first.node_id,
        status=end.status if end is not None else RUNNING if is_written else INTERRUPTED,
        stop_reason=None if end is None else end.stop_reason,
        turns=last,
        look_at=cause.look_at or cause.turn or last,
        cause=cause,
        dropped=tuple(Place(part.name, quoted(part.text)) for part in dropped),
    )


def _cause(history: AgentHistory, review: Review | None, *, is_written: bool) -> Cause:
    end, last = history.end, history.last
    if end is None:
        assert last is not None  # the stream is not empty
        evidence = (Evidence(last.turn, last.seq, f"the last event: {last.type}"),)
        at = f"turn {last.turn}, after {last.type}"
        if is_written:
            return Cause("running", None, f"The agent is still running: {at}", evidence)
        text = f"Interrupted at {at}: the process ended before the agent did"
        return Cause("interrupted", last.turn, text, evidence)
    if review is not None and review.verdict == CONFLICT:
        return _conflict(history, review)
    if end.status in WITH_RESULT and not end.error:
        return _without_failure(history, end)
    failure = failure_of(history.turns, end)
    found = (failure and _failed(history, end, failure)) or _unknown(history, end)
    done = "; rules completed the job" if end.status == VERIFIED else ""
    return msgspec.structs.replace(found, sentence=found.sentence + done)


def _last_review(folder: TraceFolder, event: Event) -> Review | None:
    """Return the last verdict on an agent, up to the first damaged line of its run's stream."""
    found = None
    with suppress(NotFound, StreamDamaged):
        for one in read_events(folder.existing_run(event.run_id)):
            data = typed_payload(one) if one.type == Review.type else None
            if isinstance(data, Review) and data.agent_id == event.agent_id:
                found = data
    return found


def _failed(history: AgentHistory, end: AgentEnd, failure: Failure) -> Cause | None:
    """Return what ended the last turn, what a packet lost, or else which call or check failed."""
    problem = _problem(history)
    if problem is not None and problem.kind != "bad_answer":
        return problem
    lost = budget_dropped(history, failure) or summary_lost(history, failure)
    if lost is not None:
        return lost
    turn, number = failure.turn, failure.turn.number
    text = quoted(failure.message.removeprefix(f"{failure.check}: "))
    chosen = f"{turn.call}, chosen by {'the model' if turn.is_of_model else 'a rule'}"
    evidence = (Evidence(number, turn.seq, chosen),)
    if failure.is_of_tool:
        sentence = f"{turn.tool} failed at turn {number}: {text}"
        return Cause("tool_failed", number, sentence, evidence)
    if failure.check:
        sentence = f"The check {failure.check} refused the change of turn {number}: {text}"
        return Cause("check_failed", number, sentence, evidence)
    if looping := _loop(history.turns, end):
        calls = tuple(Evidence(one.number, one.seq, one.call) for one in history.turns[-6:])
        return Cause("loop", number, f"Loop up to turn {number}: {looping}", calls)
    return problem


def _loop(turns: list[Turn], end: AgentEnd) -> str:
    """Return what an agent repeated, or an empty string."""
    calls = Counter(one.call for one in turns if one.call).most_common(1)
    if end.stop_reason not in ("repeated_call", "no_progress", "max_turns"):
        return ""
    if calls and calls[0][1] >= _LOOPING:
        return f"the agent called {calls[0][0]} {calls[0][1]} times"
    nothing = end.error or "its calls changed nothing"
    return "" if end.stop_reason == "max_turns" else quoted(nothing)


def _problem(history: AgentHistory) -> Cause | None:
    """Return the error that ended the last turn, unless a model decided in a later one."""
    for turn in reversed(history.turns):
        if turn.problem is not None and turn.problem[0] in _PROBLEMS:
            kind, beginning = _PROBLEMS[turn.problem[0]]
            number, text = turn.number, quoted(turn.problem[1])
            evidence = (Evidence(number, turn.seq, text),)
            return Cause(kind, number, f"{beginning.format(number)}: {text}", evidence)
        if turn.problem is not None or turn.is_of_model:
            break
    return None


def _conflict(history: AgentHistory, review: Review) -> Cause:
    places = [quoted(f"{one.get('path')}: {one.get('detail')}") for one in review.detail]
    number = next((one.number for one in reversed(history.turns) if one.has_changed), None)
    what = places[0] if places else "the same lines were changed"
    change = "the change" if number is None else f"the change of turn {number}"
    sentence = f"Conflict: {change} could not be merged with your files: {what}"
    evidence = tuple(Evidence(number or 0, None, text) for text in places[:10])
    return Cause("conflict", number, sentence, evidence)


def _without_failure(history: AgentHistory, end: AgentEnd) -> Cause:
    if end.status == VERIFIED:
        sentence = "Nothing failed: the agent submitted a change that passed all checks"
        return Cause("verified", None, sentence)
    last = next((one for one in reversed(history.turns) if one.result_seq is not None), None)
    hidden = None if last is None else summary_lost(history, Failure(last, ""))
    reason = history.no_change.text(None)
    said = f": {quoted(reason)}" if reason else ""
    return hidden or Cause("no_change", None, f"Nothing failed: the agent changed nothing{said}")


def _unknown(history: AgentHistory, end: AgentEnd) -> Cause:
    last = history.turns[-1].number if history.turns else 0
    turns = count(last, "turn")
    if end.stop_reason == "max_turns":
        text = f"The agent was not done after {turns}, its limit, which --max-turns sets"
        return Cause("turn_limit", last, text)
    said = f"{end.status} ({end.stop_reason})" + (f": {quoted(end.error)}" if end.error else "")
    text = f"No cause found in {turns} of the agent; it ended with {said}"
    return Cause("unknown", last or None, text)
