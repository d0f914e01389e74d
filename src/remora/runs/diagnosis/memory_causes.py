"""Failures in which the model decided without a fact, or with one that was no longer true."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from remora.runs.diagnosis.agent_history import AgentHistory, Turn
from remora.runs.diagnosis.cause import Cause, Evidence, Rule, quoted
from remora.runs.diagnosis.failure import (
    Failure,
    arguments_at,
    call_text,
    dropped_parts,
)
from remora.runs.diagnosis.packet_places import (
    Argument,
    Place,
    names_in,
    occurs,
    packet_places,
)

_MESSAGE = re.compile(r"^(?:[\w./-]+:\d+(?::\d+)?: )?(?:\w+ )?\w*(?:\[\w+\])?: *")
"""The place and the kind in front of an error message."""
_CORE = 40
"""Characters of a message by which it is recognized in a packet."""


def stale_fact(history: AgentHistory, failure: Failure) -> Cause | None:
    """An argument of the failing call comes from a file that changed after it was read."""
    if failure.result is None or failure.turn.call is None:
        return None
    for argument in arguments_at(history, failure.turn):
        sources = [place for place in argument.places if place.is_source]
        changes = [_changed_since(history, place, failure.turn) for place in sources]
        if sources and all(changes):
            place, found = sources[0], changes[0]
            assert found is not None  # all are
            return _stale(failure, argument, place, *found)
    return _stale_in_hub(history, failure)


def _stale(failure: Failure, argument: Argument, place: Place, changed: Turn, path: str) -> Cause:
    turn, call = failure.turn, failure.turn.call
    assert call is not None  # it has an argument
    what = f"{argument.name}={argument.value}"
    evidence = [
        Evidence(place.turn, None, f"{place.name} was set from {path}"),
        Evidence(
            changed.number,
            changed.result.seq if changed.result is not None else None,
            f"{changed.call.tool if changed.call is not None else 'a tool'} changed {path}",
        ),
        Evidence(turn.number, call.seq, f"{call_text(call)} used {what}"),
    ]
    return Cause(
        kind="stale_fact",
        turn=turn.number,
        sentence=f"Turn {turn.number} used a stale fact: {what} is from turn {place.turn}, and "
        f"{path} changed at turn {changed.number}; {call.tool} failed: "
        f"{quoted(failure.message)}",
        evidence=(*evidence, *_failed_result(failure)),
    )


def _changed_since(history: AgentHistory, place: Place, failing: Turn) -> tuple[Turn, str] | None:
    """Return the turn that changed a file which the turn of `place` had read, and its path."""
    source = next((one for one in history.turns if one.number == place.turn), None)
    if source is None or source.result is None:
        return None
    read = {text for call in source.result.host_calls for text in call.texts}
    for turn in history.turns:
        if place.turn < turn.number < failing.number and turn.result is not None:
            path = next((one for one in turn.result.changed if one in read), None)
            if path is not None:
                return turn, path
    return None


def _stale_in_hub(history: AgentHistory, failure: Failure) -> Cause | None:
    """Facts of the Hub that are marked as outdated, about the agent's node."""
    turn = failure.turn
    shown = history.shown(turn)
    facts = shown.hub_context.get(shown.node_id)
    if not isinstance(facts, dict) or not turn.asked_model:
        return None
    edited = facts.get("changed_by_user") is True
    if not edited and facts.get("fresh") is not False:
        return None
    name = shown.node_id.removeprefix("node:")
    what = f"you edited {name} while the agent worked" if edited else f"{name} has changed since"
    return Cause(
        kind="stale_fact",
        turn=turn.number,
        sentence=f"Turn {turn.number} used stale facts of the Hub: {what}; "
        f"{quoted(failure.message)}",
        evidence=(
            Evidence(turn.number, None, f"hub_context/{shown.node_id}: not fresh"),
            *_failed_result(failure),
        ),
    )


def budget_dropped(history: AgentHistory, failure: Failure) -> Cause | None:
    """The failure names what the budget removed from the packet of the model's decision."""
    names = _names_of(history, failure)
    for turn in _deciding_turns(history, failure):
        shown = history.shown(turn)
        kept = packet_places(shown, turn.set_at)
        dropped = dropped_parts(history, turn)
        for name in names:
            place = next((one for one in dropped if occurs(name, one.text)), None)
            if place is not None and not any(occurs(name, one.text) for one in kept):
                return _dropped(history, failure, turn, place, name)
    return None


def _dropped(history: AgentHistory, failure: Failure, turn: Turn, place: Place, name: str) -> Cause:
    line = next((one for one in place.text.split("\n") if occurs(name, one)), place.text)
    asked = turn.request
    since = _dropped_since(history, turn, name)
    evidence = [
        Evidence(since, None, f"{place.name} is dropped from here on: {quoted(line)}"),
        Evidence(turn.number, asked.seq if asked is not None else None, _trimmed(turn)),
    ]
    if turn.call is not None:
        text = f"{call_text(turn.call)}, decided by {turn.call.decided_by}"
        evidence.append(Evidence(turn.number, turn.call.seq, text))
    return Cause(
        kind="budget_dropped",
        turn=turn.number,
        sentence=f'The budget dropped the line "{quoted(line)}" ({place.name})'
        f"{_others(history, turn, place)} from the packet of turn {turn.number}, so the model "
        f"decided without it; {_what_failed(failure)}",
        evidence=(*evidence, *_failed_result(failure)),
    )


def _others(history: AgentHistory, turn: Turn, place: Place) -> str:
    """Return what else the budget dropped, such as ` and 2 of the diagnostics`."""
    parts = [part for part in dropped_parts(history, turn) if part != place]
    kinds = Counter(part.name.partition("/")[0].replace("_", " ") for part in parts)
    named = [f"{number:,} of the {kind}" for kind, number in kinds.items()]
    return f" and {' and '.join(named)}" if named else ""


def _dropped_since(history: AgentHistory, turn: Turn, name: str) -> int:
    """Return the first turn from which on, up to `turn`, the budget dropped what has the name."""
    since = turn.number
    for one in reversed(history.turns):
        if one.number < since and one.call is not None:
            if not any(occurs(name, part.text) for part in dropped_parts(history, one)):
                break
            since = one.number
    return since


def _trimmed(turn: Turn) -> str:
    size = f" of {turn.request.prompt_tokens:,} tokens" if turn.request is not None else ""
    return f"the request{size} shows a packet that was trimmed in {turn.trimmed} steps"


def summary_lost(history: AgentHistory, failure: Failure) -> Cause | None:
    """A tool's output has the error, and the packet of the next decision does not."""
    names = _names_of(history, failure)
    for turn in history.turns:
        if turn.number > failure.turn.number or turn.result is None:
            continue
        after = history.packet_after(turn)
        if after is None or not _is_model_next(history, turn):
            continue
        shown = "\n".join(place.text for place in packet_places(after, {}))
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


MEMORY_RULES: tuple[Rule, ...] = (stale_fact, budget_dropped, summary_lost)
"""Rules for what a model decided on, most certain first."""
