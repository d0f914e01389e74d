"""The failure that ended an agent's work: its turn, its message and the facts around it."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from remora.agents.builtin_tools import SUBMIT
from remora.memory.canonical import canonical, json_text
from remora.memory.packet import DecisionPacket
from remora.runs.diagnosis.agent_history import AgentHistory, Call, ToolOutcome, Turn
from remora.runs.diagnosis.packet_places import Argument, Place, arguments_of, packet_places
from remora.text import clip

_LOOPING = 3
"""Equal calls that make a loop."""
_UNFINISHED = frozenset({"repeated_call", "no_progress", "max_turns"})


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """Equal calls of an agent, and the turns in which it made them."""

    tool: str
    args: str
    turns: tuple[int, ...]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent failed.

    `turn` is the turn of the call to which the failure is attributed, or the last turn. `message`
    is what was reported: the error of a result, of a turn or of a check. `result` is the result
    with the error, if a tool reported one.
    """

    turn: Turn
    message: str
    stop_reason: str
    result: ToolOutcome | None = None
    check: str = ""

    @property
    def ends_without_error(self) -> bool:
        """True if no tool and no check reported an error."""
        return self.result is None and not self.check


def failure_of(history: AgentHistory) -> Failure | None:
    """Return the failure of an agent, or None if it has no turns or nothing failed."""
    if not history.turns:
        return None
    end = history.end
    stop = end.stop_reason if end is not None else ""
    message = (end.error or "") if end is not None else ""
    if stop == "verification":
        return _refused_submission(history, message)
    failing = _unresolved_error(history.turns)
    if failing is not None and (stop in _UNFINISHED or message or not stop):
        result = failing.result
        text = result.error or message if result is not None else message
        return Failure(turn=failing, message=text, stop_reason=stop, result=result)
    last = next((one for one in reversed(history.turns) if _acts(one)), history.turns[-1])
    if end is not None and end.status in ("submitted", "no_change") and not message:
        return None
    return Failure(turn=last, message=message, stop_reason=stop)


def _refused_submission(history: AgentHistory, message: str) -> Failure:
    """Return the failure of a check, attributed to the last call that changed a file.

    Of several, it is the last one that a model chose.
    """
    changing = [one for one in history.turns if one.result is not None and one.result.changed]
    chosen = [one for one in changing if one.asked_model] or changing
    failed = history.submission.failed if history.submission is not None else ()
    name = str(failed[0].get("name", "")) if failed else message.partition(":")[0]
    return Failure(
        turn=(chosen or history.turns)[-1], message=message, stop_reason="verification", check=name
    )


def _unresolved_error(turns: list[Turn]) -> Turn | None:
    """Return the last turn with a failed result, unless the same tool succeeded later."""
    succeeded: set[str] = set()
    for turn in reversed(turns):
        result = turn.result
        if result is None or result.tool == SUBMIT:
            continue
        if result.outcome != "error":
            succeeded.add(result.tool)
        elif result.tool not in succeeded:
            return _first_equal(turns, turn)
    return None


def _first_equal(turns: list[Turn], failed: Turn) -> Turn:
    """Return the turn in which the same call first failed with the same error."""
    for turn in turns:
        if turn.call is None or turn.result is None or failed.call is None:
            continue
        same_call = (turn.call.tool, turn.call.args) == (failed.call.tool, failed.call.args)
        if same_call and failed.result is not None and turn.result.error == failed.result.error:
            return turn
    return failed


def _acts(turn: Turn) -> bool:
    return turn.problem is not None or (turn.call is not None and turn.call.tool != SUBMIT)


def first_error(history: AgentHistory) -> tuple[int, int, str] | None:
    """Return the turn, the event and the message of the first error, or None."""
    for turn in history.turns:
        if turn.result is not None and turn.result.outcome == "error":
            return turn.number, turn.result.seq, turn.result.error or turn.result.summary
        if turn.problem is not None:
            return turn.number, turn.problem.seq, turn.problem.message
    return None


def repeated_calls(history: AgentHistory) -> Repeated | None:
    """Return the calls that an agent made most often, if it made them at least three times."""
    calls = [(turn.number, turn.call) for turn in history.turns if _is_work(turn.call)]
    keys = [canonical([call.tool, call.args]) for _, call in calls if call is not None]
    most = Counter(keys).most_common(1)
    if not most or most[0][1] < _LOOPING:
        return None
    turns = tuple(number for (number, _), key in zip(calls, keys, strict=True) if key == most[0][0])
    call = calls[keys.index(most[0][0])][1]
    return None if call is None else Repeated(tool=call.tool, args=call_text(call), turns=turns)


def _is_work(call: Call | None) -> bool:
    return call is not None and call.tool != SUBMIT


def call_text(call: Call) -> str:
    """Return a call as text, such as `fix(code="E501")`, cut to one short line."""
    named = ", ".join(f"{name}={clip(json_text(value), 60)}" for name, value in call.args.items())
    return clip(f"{call.tool}({named})", 160)


def arguments_at(history: AgentHistory, turn: Turn) -> tuple[Argument, ...]:
    """Return the arguments of a turn's call, with their places in the packet."""
    return () if turn.call is None else arguments_of(turn.call, turn, history.shown(turn))


def dropped_parts(history: AgentHistory, turn: Turn) -> list[Place]:
    """Return what the budget removed from the packet of a turn."""
    shown: DecisionPacket = history.shown(turn)
    if shown == turn.packet:
        return []
    kept = packet_places(shown, turn.set_at)
    texts = {place.text for place in kept}
    left = "\n".join(texts)
    dropped = [p for p in packet_places(turn.packet, turn.set_at) if p.text not in texts]
    return [*_lines_left_out(dropped, left)]


def _lines_left_out(parts: list[Place], left: str) -> Iterator[Place]:
    """Yield the lines of shortened parts that the rest of the packet does not have."""
    for part in parts:
        lines = [line for line in part.text.split("\n") if line and line not in left]
        if lines:
            yield Place(part.name, part.turn, "\n".join(lines))
