"""The why line of an agent: one sentence that names the cause, the turn and the evidence."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.memory.events import Event, Gates, Review
from remora.runs.diagnosis.agent_history import AgentHistory, read_history
from remora.runs.diagnosis.call_causes import CALL_RULES
from remora.runs.diagnosis.failure import (
    Cause,
    Evidence,
    Failure,
    Rule,
    dropped_parts,
    failure_of,
    quoted,
)
from remora.runs.diagnosis.memory_causes import MEMORY_RULES, summary_lost
from remora.runs.diagnosis.model_causes import bad_answer, recorded_error
from remora.runs.diagnosis.packet_places import Place
from remora.statuses import CONFLICT, DISMISSED, INTERRUPTED, RUNNING, VERIFIED, WITH_RESULT
from remora.text import count
from remora.trace.read.reader import is_being_written, read_events, typed_payload
from remora.trace.trace_folder import TraceFolder

RULES: tuple[Rule, ...] = (recorded_error, *MEMORY_RULES, *CALL_RULES, bad_answer)
"""The first rule that recognizes a failure names its cause."""
MAX_EVIDENCE = 10


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent failed, and the facts about its failure.

    `status` is that of the agent. `cause` has the why line. `dropped` is what the budget removed
    from the packet of the cause's turn. `look_at` is the turn whose packet shows most.
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


class Judged(NamedTuple):
    """What happened to a change set after its agent had ended: a verdict, and why gates took it out."""

    review: Review | None = None
    taken_out: tuple[str, ...] = ()


def why(folder: TraceFolder, agent_id: str) -> Diagnosis:
    """Return why an agent failed, from its stream and the judgements in its run's stream.

    Raises NotFound if there is no such agent, UsageError if it is a run, and StreamDamaged if its
    stream is empty or damaged.
    """
    path = _stream_of(folder, agent_id)
    is_written = is_being_written(path)
    history = read_history(read_events(path), folder.blobs.pieces)
    if history.first is None:
        raise StreamDamaged(
            f"{agent_id}: the stream is empty", hint="check it with `remora trace verify`"
        )
    is_verified = history.end is not None and history.end.status == VERIFIED
    judged = _judged(folder, history.first) if is_verified else Judged()
    return diagnosis_of(history, judged, is_written=is_written)


def _stream_of(folder: TraceFolder, agent_id: str) -> Path:
    try:
        return folder.existing_agent(agent_id)
    except NotFound:
        with suppress(NotFound):
            folder.existing_run(agent_id)
            raise UsageError(
                f"{agent_id} is a run, not an agent",
                hint=f"`remora show {agent_id}` lists its jobs; name one of their agents",
            ) from None
        raise


def _judged(folder: TraceFolder, event: Event) -> Judged:
    """Return the last judgements on the agent of an event that its run's stream has.

    If the run's stream is damaged, only the events before the damage are read.
    """
    found = Judged()
    with suppress(NotFound, StreamDamaged):
        for one in read_events(folder.existing_run(event.run_id)):
            data = typed_payload(one) if one.type in (Review.type, Gates.type) else None
            if isinstance(data, Review) and data.agent_id == event.agent_id:
                found = found._replace(review=data)
            for taken in data.taken_out if isinstance(data, Gates) else ():
                if taken.agent_id == event.agent_id:
                    found = found._replace(taken_out=taken.reasons)
    return found


def diagnosis_of(history: AgentHistory, judged: Judged, *, is_written: bool = False) -> Diagnosis:
    """Return why an agent failed, from its folded events and what happened to its change set.

    Raises StreamDamaged if their data is nested too deeply.
    """
    first = history.first
    assert first is not None  # callers have checked
    try:
        return _diagnosis_of(history, first, judged, is_written=is_written)
    except RecursionError as error:
        raise StreamDamaged(
            f"{first.agent_id}: the data of an event is nested too deeply",
            hint="check it with `remora trace verify`",
        ) from error


def _diagnosis_of(
    history: AgentHistory, first: Event, judged: Judged, *, is_written: bool
) -> Diagnosis:
    end = history.end
    failure = failure_of(history)
    cause = _cause(history, failure, judged, is_written=is_written)
    status = end.status if end is not None else RUNNING if is_written else INTERRUPTED
    last = history.turns[-1].number if history.turns else 0
    blamed = next((one for one in history.turns if one.number == cause.turn), None)
    return Diagnosis(
        agent_id=first.agent_id,
        run_id=first.run_id,
        operation=first.operation,
        node_id=first.node_id,
        status=status,
        stop_reason=None if end is None else end.stop_reason,
        turns=last,
        look_at=cause.look_at or cause.turn or last,
        cause=msgspec.structs.replace(cause, evidence=cause.evidence[:MAX_EVIDENCE]),
        dropped=tuple(
            Place(part.name, quoted(part.text))
            for part in (() if blamed is None else dropped_parts(history, blamed))
        ),
    )


def _cause(
    history: AgentHistory, failure: Failure | None, judged: Judged, *, is_written: bool
) -> Cause:
    end = history.end
    if end is None:
        return _unfinished(history, is_written=is_written)
    if judged.review is not None and judged.review.verdict == CONFLICT:
        return _conflict(history, judged.review)
    if end.status in WITH_RESULT and not end.error:
        return _without_failure(history, judged)
    found = None
    if failure is not None:
        found = next(filter(None, (rule(history, failure) for rule in RULES)), None)
    if found is None:
        return _unknown(history)
    if end.status == VERIFIED:
        text = f"{found.sentence}; rules completed the job"
        return msgspec.structs.replace(found, sentence=text)
    return found


def _unfinished(history: AgentHistory, *, is_written: bool) -> Cause:
    last = history.last
    number = last.turn if last is not None else 0
    doing = _DOING.get(last.type if last is not None else "", "")
    evidence = () if last is None else (Evidence(number, last.seq, f"the last event: {last.type}"),)
    if is_written:
        return Cause(
            kind="running",
            turn=None,
            sentence=f"The agent is still running: turn {number}{doing}",
            evidence=evidence,
        )
    return Cause(
        kind="interrupted",
        turn=number,
        sentence=f"Interrupted at turn {number}{doing}: the process ended before the agent did",
        evidence=evidence,
    )


_DOING = {
    "model_request": ", while waiting for the model's answer",
    "tool_call": ", while its tool was running",
    "submit_result": ", after its checks",
}


def _conflict(history: AgentHistory, review: Review) -> Cause:
    places = [f"{one.get('path')}: {one.get('detail')}" for one in review.detail]
    changing = [one for one in history.turns if one.result is not None and one.result.changed]
    evidence = tuple(
        Evidence(turn.number, turn.result.seq, f"changed {', '.join(turn.result.changed)}")
        for turn in changing[-3:]
        if turn.result is not None
    )
    number = changing[-1].number if changing else None
    what = quoted(places[0]) if places else "the same lines were changed"
    change = "the change" if number is None else f"the change of turn {number}"
    return Cause(
        kind="conflict",
        turn=number,
        sentence=f"Conflict: {change} could not be merged with your files: {what}",
        evidence=(*(Evidence(number or 0, None, quoted(text)) for text in places), *evidence),
    )


def _without_failure(history: AgentHistory, judged: Judged) -> Cause:
    end = history.end
    assert end is not None  # it did not fail
    number = history.turns[-1].number if history.turns else 0
    left = tuple(Evidence(number, None, f"left {text}") for text in history.left)
    if end.status == VERIFIED:
        return Cause(
            kind="verified",
            turn=None,
            sentence="Nothing failed: the agent submitted a change that passed all checks"
            + _then(judged),
            evidence=(*left, *(Evidence(number, None, text) for text in judged.taken_out)),
        )
    if history.turns:
        last = next((one for one in reversed(history.turns) if one.result is not None), None)
        hidden = summary_lost(
            history, Failure(turn=last or history.turns[-1], message="", stop_reason="no_change")
        )
        if hidden is not None:
            return hidden
    reason = history.no_change.text(None)
    why_not = f": {quoted(reason)}" if reason else ""
    return Cause(
        kind="no_change",
        turn=None,
        sentence=f"Nothing failed: the agent changed nothing{why_not}",
        evidence=left,
    )


def _then(judged: Judged) -> str:
    """Return why a submitted change is not pending as a whole, or nothing if it is."""
    review = judged.review
    if review is not None and review.verdict in DISMISSED:
        return f"; then it was {review.verdict}" + (
            f": {quoted(review.feedback)}" if review.feedback else ""
        )
    return f"; {quoted(judged.taken_out[0])}" if judged.taken_out else ""


def _unknown(history: AgentHistory) -> Cause:
    end = history.end
    assert end is not None  # others are running or interrupted
    said = f"; it ended with {end.status} ({end.stop_reason})"
    said += f": {quoted(end.error)}" if end.error else ""
    last = history.turns[-1].number if history.turns else 0
    evidence = (Evidence(last, history.end_seq, f"{end.status}, {end.stop_reason}"),)
    if end.stop_reason == "max_turns":
        return Cause(
            kind="turn_limit",
            turn=last,
            sentence=f"The agent was not done after {count(last, 'turn')}, its limit, which "
            "--max-turns and max_turns set",
            evidence=evidence,
        )
    return Cause(
        kind="unknown",
        turn=last or None,
        sentence=f"No cause found in {count(last, 'turn')} of the agent{said}",
        evidence=evidence,
    )
