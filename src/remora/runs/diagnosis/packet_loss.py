"""What a model decided without: lines that the budget dropped, and errors that a summary lost."""

import re
from typing import Literal

import msgspec

from remora.agents.builtin_tools import SUBMIT
from remora.memory.events import AgentEnd
from remora.runs.diagnosis.agent_history import AgentHistory, Turn
from remora.runs.diagnosis.texts import dropped_parts, names_in, occurs, text_of
from remora.text import clip

_MESSAGE = re.compile(r"^(?:[\w./-]+:\d+(?::\d+)?: )?(?:\w+ )?\w*(?:\[\w+\])?: *")
"""The place and the kind in front of an error message."""
CauseKind = Literal[
    "running", "interrupted", "conflict", "context_truncated", "budget_dropped", "model_failed",
    "internal_error", "summary_lost", "tool_failed", "check_failed", "loop", "bad_answer",
    "turn_limit", "unknown", "verified", "no_change",
]  # fmt: skip
_CORE = 40
"""Characters of a message by which it is recognized in a packet."""


class Evidence(msgspec.Struct, frozen=True):
    """What an event of a turn shows. `seq` is null for what follows from several events."""

    turn: int
    seq: int | None
    text: str


class Cause(msgspec.Struct, frozen=True):
    """Why an agent failed. `turn` is null if no turn is to blame.

    `look_at` is the turn whose packet shows the cause, if it is another one.
    """

    kind: CauseKind
    turn: int | None
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    look_at: int | None = None


class Failure(msgspec.Struct, frozen=True):
    """The turn to which a failure is attributed, and the error of a tool, a check or the end."""

    turn: Turn
    message: str
    is_of_tool: bool = False
    check: str = ""


def failure_of(turns: list[Turn], end: AgentEnd) -> Failure | None:
    """Return the failure of an agent, or None if it has no turns."""
    message = end.error or ""
    if turns and end.stop_reason == "verification":
        changing = [one for one in turns if one.has_changed]
        chosen = [one for one in changing if one.is_of_model] or changing or turns
        return Failure(chosen[-1], message, check=message.partition(":")[0])
    succeeded = {SUBMIT}
    for turn in reversed(turns):
        if turn.is_error and turn.tool not in succeeded:
            same = (one for one in turns if one.is_error and one.call == turn.call)
            first = next(one for one in same if one.error == turn.error)
            return Failure(first, turn.error, is_of_tool=True)
        succeeded |= {turn.tool} if turn.result_seq is not None else set()
    acting = [one for one in turns if one.problem or one.tool not in ("", SUBMIT)] or turns
    return Failure(acting[-1], message) if acting else None


def budget_dropped(history: AgentHistory, failure: Failure) -> Cause | None:
    """The failure names what the budget removed from the packet of the model's decision."""
    last = history.turns[-1].number if failure.check else failure.turn.number
    for turn in (one for one in reversed(history.turns) if one.is_of_model and one.number <= last):
        shown = turn.state.shown()
        dropped, kept = dropped_parts(turn.state.packet, shown), text_of(shown)
        for name in _names_of(failure):
            place = next((one for one in dropped if occurs(name, one.text)), None)
            if place is None or occurs(name, kept):
                continue
            line = next((one for one in place.text.split("\n") if occurs(name, one)), place.text)
            sentence = (
                f'The budget dropped the line "{quoted(line)}" ({place.name}) from the packet of '
                f"turn {turn.number}, so the model decided without it; {quoted(failure.message)}"
            )
            evidence = (Evidence(turn.number, turn.seq, turn.call),)
            return Cause("budget_dropped", turn.number, sentence, evidence)
    return None


def summary_lost(history: AgentHistory, failure: Failure) -> Cause | None:
    """A tool's output has the error, and the packet of the model's next decision does not."""
    for at, turn in enumerate(history.turns):
        later = next((one for one in history.turns[at + 1 :] if one.call), None)
        if later is None or not later.is_of_model:
            continue
        results = [x for x in history.turns if x.tool == turn.tool and x.result_seq is not None]
        is_repaired = results and not (results[-1].reported or results[-1].is_error)
        lines = () if is_repaired else turn.reported
        if failure.is_of_tool or failure.check or turn.is_error:  # another one is known
            names = [] if turn is failure.turn else _names_of(failure)
            lines = tuple(x for x in lines if any(occurs(name, x) for name in names))
        shown = text_of(later.state.shown())
        lost = next((line for line in lines if not _is_shown(line, shown)), None)
        if lost is not None and turn.number <= failure.turn.number:
            number, line, summary = turn.number, quoted(lost), quoted(turn.summary)
            then = quoted(failure.message) if failure.message else "then it changed nothing"
            sentence = (
                f'The summary of {turn.tool} at turn {number} lost the error "{line}": '
                f'the model saw "{summary}"; {then}'
            )
            evidence = (
                Evidence(number, turn.result_seq, f"the raw output has: {line}"),
                Evidence(later.number, None, f"the packet has only: {summary}"),
            )
            return Cause("summary_lost", number, sentence, evidence, later.number)
    return None


def _is_shown(line: str, shown: str) -> bool:
    """Return True if a packet has the message of an error, or all names in it."""
    message = " ".join(_MESSAGE.sub("", line).split())
    names = names_in(message)
    is_whole = message[:_CORE] in " ".join(shown.split())
    return is_whole or (bool(names) and all(occurs(name, shown) for name in names))


def _names_of(failure: Failure) -> list[str]:
    """Return what the message of a failure names, but for what is known from the job itself."""
    packet = failure.turn.state.packet
    known = f"{packet.goal} {packet.node_id} {packet.agent_id} {failure.check}"
    path = packet.node_id.removeprefix("node:").rpartition(":")[0] + ":"
    names = names_in(failure.message)
    return [name for name in names if not occurs(name, known) and not name.startswith(path)]


def quoted(text: str) -> str:
    """Return a message on one line, cut to a length that fits in a sentence, or that it is empty."""
    return clip(" ".join(text.split()), 160).rstrip(". ") or "without a message"
