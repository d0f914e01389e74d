"""The failure that ended an agent's work, and what its cause is described by."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from remora.agents.builtin_tools import SUBMIT
from remora.memory.canonical import canonical, json_text
from remora.runs.diagnosis.agent_history import AgentHistory, Call, ToolOutcome, Turn
from remora.runs.diagnosis.packet_places import Place, packet_places
from remora.statuses import WITH_RESULT
from remora.text import clip

_LOOPING = 3
"""Equal calls that make a loop."""
_QUOTED = 160
_UNFINISHED = frozenset({"repeated_call", "no_progress", "max_turns"})


class Repeated(NamedTuple):
    """A call that an agent made several times, and the turns in which it made it."""

    call: str
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
    if end is not None and end.status in WITH_RESULT and not message:
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


def repeated_calls(history: AgentHistory) -> Repeated | None:
    """Return the call that an agent made most often, if it made it at least three times."""
    turns: dict[bytes, list[int]] = {}
    calls: dict[bytes, Call] = {}
    for turn in history.turns:
        if turn.call is not None and turn.call.tool != SUBMIT:
            key = canonical([turn.call.tool, turn.call.args])
            turns.setdefault(key, []).append(turn.number)
            calls.setdefault(key, turn.call)
    most = max(turns, key=lambda key: len(turns[key]), default=b"")
    if len(turns.get(most, ())) < _LOOPING:
        return None
    return Repeated(call_text(calls[most]), tuple(turns[most]))


def call_text(call: Call) -> str:
    """Return a call as text, such as `fix(code="E501")`, cut to one short line."""
    named = ", ".join(f"{name}={clip(json_text(value), 60)}" for name, value in call.args.items())
    return clip(f"{call.tool}({named})", 160)


def dropped_parts(history: AgentHistory, turn: Turn) -> list[Place]:
    """Return what the budget removed from the packet of a turn: the lines that it does not have."""
    shown = history.shown(turn)
    if shown == turn.packet:
        return []
    texts = {place.text for place in packet_places(shown)}
    left = "\n".join(texts)
    dropped = []
    for part in packet_places(turn.packet):
        lines = [line for line in part.text.split("\n") if line and line not in left]
        if part.text not in texts and lines:
            dropped.append(Place(part.name, "\n".join(lines)))
    return dropped


Kind = Literal[
    "context_truncated",
    "time_out",
    "model_failed",
    "bad_answer",
    "conflict",
    "budget_dropped",
    "summary_lost",
    "tool_crash",
    "refused_edit",
    "tool_error",
    "wrong_choice",
    "loop",
    "turn_limit",
    "check_failed",
    "internal_error",
    "interrupted",
    "running",
    "no_change",
    "verified",
    "unknown",
]


class Evidence(msgspec.Struct, frozen=True):
    """What an event of a turn shows. `seq` is null for what follows from several events."""

    turn: int
    seq: int | None
    text: str


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent failed. `turn` is null if no turn is to blame.

    `look_at` is the turn whose packet shows the cause, if it is another one.
    """

    kind: Kind
    turn: int | None
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    look_at: int | None = None


Rule = Callable[[AgentHistory, Failure], Cause | None]
"""Returns the cause of a failure if the rule recognizes it."""


def quoted(text: str) -> str:
    """Return a message on one line, cut to a length that fits in a sentence, or that it is empty."""
    return clip(" ".join(text.split()), _QUOTED).rstrip(". ") or "without a message"
