"""Failures in which the model decided without a fact."""

import re
from collections.abc import Iterator, Sequence

from remora.runs.diagnosis.agent_history import AgentHistory, Turn
from remora.runs.diagnosis.failure import (
    Cause,
    Evidence,
    Failure,
    Rule,
    call_text,
    dropped_parts,
    quoted,
)
from remora.runs.diagnosis.packet_places import Place, names_in, occurs, packet_places

_MESSAGE = re.compile(r"^(?:[\w./-]+:\d+(?::\d+)?: )?(?:\w+ )?\w*(?:\[\w+\])?: *")
"""The place and the kind in front of an error message."""
_CORE = 40
"""Characters of a message by which it is recognized in a packet."""


def budget_dropped(history: AgentHistory, failure: Failure) -> Cause | None:
    """The failure names what the budget removed from the packet of the model's decision."""
    names = _names_of(history, failure)
    for turn in _deciding_turns(history, failure):
        shown = history.shown(turn)
        kept = [*packet_places(shown)]
        dropped = dropped_parts(history, turn)
        for name in names:
            place = next((one for one in dropped if occurs(name, one.text)), None)
            if place is not None and not any(occurs(name, one.text) for one in kept):
                return _dropped(failure, turn, place, name)
    return None


def _dropped(failure: Failure, turn: Turn, place: Place, name: str) -> Cause:
    line = next((one for one in place.text.split("\n") if occurs(name, one)), place.text)
    asked = turn.request
    size = "" if asked is None else f" of {asked.prompt_tokens:,} tokens"
    trimmed = f"the request{size} shows a packet that was trimmed in {turn.trimmed} steps"
    evidence = [Evidence(turn.number, None if asked is None else asked.seq, trimmed)]
    if turn.call is not None:
        text = f"{call_text(turn.call)}, decided by {turn.call.decided_by}"
        evidence.append(Evidence(turn.number, turn.call.seq, text))
    return Cause(
        kind="budget_dropped",
        turn=turn.number,
        sentence=f'The budget dropped the line "{quoted(line)}" ({place.name}) from the packet of '
        f"turn {turn.number}, so the model decided without it; {_what_failed(failure)}",
        evidence=(*evidence, *_failed_result(failure)),
    )


def summary_lost(history: AgentHistory, failure: Failure) -> Cause | None:
    """A tool's output has the error, and the packet of the next decision does not."""
    names = _names_of(history, failure)
    for turn in history.turns:
        if turn.number > failure.turn.number or turn.result is None:
            continue
        after = history.packet_after(turn)
        if after is None or not _is_model_next(history, turn):
            continue
        shown = "\n".join(place.text for place in packet_places(after))
        for line in _lost_lines(history, failure, turn, names):
            if not _is_shown(line, shown):
                return _lost(failure, turn, line, after.turn)
    return None


def _lost_lines(
    history: AgentHistory, failure: Failure, turn: Turn, names: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of an output that may be the cause: errors, if nothing else reported one.

    Otherwise, these are the lines with one of the names that occur in the failure.
    """
    result = turn.result
    if result is None or _is_repaired(history, turn):
        return
    if failure.ends_without_error and result.outcome != "error":
        yield from result.reported
        return
    if turn is failure.turn:
        return
    for name in names:
        yield from (line for line in result.reported if occurs(name, line))


def _is_repaired(history: AgentHistory, turn: Turn) -> bool:
    """Return True if the same tool reported no error in a later turn."""
    tool = turn.result.tool if turn.result is not None else ""
    for one in reversed(history.turns):
        if one.result is not None and one.result.tool == tool:
            is_good = not one.result.reported and one.result.outcome != "error"
            return one.number > turn.number and is_good
    return False


def _is_model_next(history: AgentHistory, turn: Turn) -> bool:
    later = next((one for one in history.after(turn) if one.call is not None), None)
    return later is not None and later.asked_model


def _lost(failure: Failure, turn: Turn, line: str, after: int) -> Cause:
    result = turn.result
    assert result is not None  # the line is from it
    return Cause(
        kind="summary_lost",
        turn=turn.number,
        sentence=f'The summary of {result.tool} at turn {turn.number} lost the error "'
        f'{quoted(line)}": the model saw "{quoted(result.summary)}"; {_what_failed(failure)}',
        evidence=(
            Evidence(turn.number, result.seq, f"the raw output has: {quoted(line)}"),
            Evidence(after, None, f"the packet has only: {quoted(result.summary)}"),
            *_failed_result(failure),
        ),
        look_at=after,
    )


def _is_shown(line: str, shown: str) -> bool:
    """Return True if a packet has the message of an error, or all names in it."""
    folded = " ".join(shown.split())
    message = " ".join(_MESSAGE.sub("", line).split())
    names = names_in(message)
    return message[:_CORE] in folded or (bool(names) and all(occurs(n, shown) for n in names))


def _names_of(history: AgentHistory, failure: Failure) -> list[str]:
    """Return what the message of a failure names, but for what is known from the job itself."""
    packet = failure.turn.packet
    known = f"{packet.goal} {packet.node_id} {packet.agent_id} {failure.check}"
    tools = {tool.name for tool in history.tools}
    paths = packet.node_id.removeprefix("node:").rpartition(":")[0]
    return [
        name
        for name in names_in(failure.message)
        if name not in tools and not occurs(name, known) and not name.startswith(f"{paths}:")
    ]


def _deciding_turns(history: AgentHistory, failure: Failure) -> list[Turn]:
    """Return the model's decisions up to the failure, the last one first.

    With a check of the whole submission, the decision to submit is one of them.
    """
    last = history.turns[-1].number if failure.check else failure.turn.number
    return [turn for turn in reversed(history.turns) if turn.asked_model and turn.number <= last]


def _what_failed(failure: Failure) -> str:
    """Return the end of a sentence: what the failure led to."""
    if failure.check or failure.result is not None:
        return quoted(failure.message)
    return quoted(failure.message) or "then it submitted without a change"


def _failed_result(failure: Failure) -> tuple[Evidence, ...]:
    result = failure.result
    if result is None:
        return ()
    return (Evidence(failure.turn.number, result.seq, f"{result.tool}: {quoted(result.error)}"),)


MEMORY_RULES: tuple[Rule, ...] = (budget_dropped, summary_lost)
"""Rules for what a model decided on, most certain first."""
