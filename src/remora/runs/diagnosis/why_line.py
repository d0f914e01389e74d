"""The why line of an agent: one sentence that says what failed, where, and what its packet lost."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

import msgspec

from remora.agents.builtin_tools import SUBMIT
from remora.agents.loop.stop_rules import INVALID_CALLS
from remora.errors import StreamDamaged, UsageError
from remora.memory.events import AgentEnd, Event, Review
from remora.memory.packet import DecisionPacket
from remora.runs.diagnosis.agent_history import AgentHistory, Turn, agent_history
from remora.runs.diagnosis.packet_parts import Place, dropped_parts, text_of
from remora.runs.records.run_listing import read_run_line
from remora.statuses import CONFLICT, INTERRUPTED, RUNNING, VERIFIED, WITH_RESULT
from remora.text import clip, count
from remora.trace.read.agent_turns import HINT
from remora.trace.read.reader import is_being_written, read_events
from remora.trace.trace_folder import TraceFolder

_MAX_MESSAGE = 4_000
"""Characters of an error message in which names are looked for."""
_NAME = re.compile(
    r"\b[^\W\d][\w.]*_\w+|\b\w+(?:[./-]\w+)+|[A-Z]{1,4}\d{2,}|\b\w*[a-z]\d\w*|line \d+"
)
"""Identifiers, paths, rule codes and line numbers in an error message."""
_QUOTED = re.compile(r"'([^'\n]{3,120})'|\"([^\"\n]{3,120})\"|`([^`\n]{3,120})`")
"""Quoted texts in an error message."""
_MESSAGE = re.compile(r"^(?:[\w./-]+:\d+(?::\d+)?: )?(?:\w+ )?\w*(?:\[\w+\])?: *")
"""The place and the kind in front of an error message."""
CauseKind = Literal[
    "running", "interrupted", "conflict", "context_truncated", "budget_dropped", "model_failed",
    "internal_error", "summary_lost", "tool_failed", "check_failed", "loop", "bad_answer",
    "turn_limit", "unknown", "verified", "no_change",
]  # fmt: skip
_CORE = 40
"""Characters of a message by which it is recognized in a packet."""
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


class Evidence(msgspec.Struct, frozen=True):
    """A fact from an event of a turn."""

    turn: int
    seq: int | None
    """Null for facts from several events."""
    text: str


class Cause(msgspec.Struct, frozen=True):
    """Why an agent failed."""

    kind: CauseKind
    turn: int | None
    """Null if no turn is to blame."""
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    look_at: int | None = None
    """The turn whose packet shows the cause, if it is another one."""


class Failure(msgspec.Struct, frozen=True):
    """The end of an agent that is to be explained."""

    turn: Turn
    """The turn to which the failure is attributed."""
    message: str
    """The error of a tool, a check or the end."""
    is_of_tool: bool = False
    """True if a tool failed."""
    check: str = ""
    """The check that refused the change, or an empty string."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent failed."""

    agent_id: str
    run_id: str
    operation: str
    node_id: str
    status: str
    stop_reason: str | None
    turns: int
    look_at: int
    """The turn whose packet shows most."""
    cause: Cause
    dropped: tuple[Place, ...]
    """What the budget removed from the packet of the cause's turn."""


def why(folder: TraceFolder, agent_id: str) -> Diagnosis:
    """Return why an agent failed, from its stream and the last verdict in its run's stream.

    Raises NotFound if there is no such agent, UsageError if it is a run, and StreamDamaged if its
    stream is empty, damaged or nested too deeply.
    """
    path = folder.find_agent(agent_id)
    if path is None and folder.find_run(agent_id) is not None:
        hint = f"`remora show {agent_id}` lists its jobs; name one of their agents"
        raise UsageError(f"{agent_id} is a run, not an agent", hint=hint)
    path = folder.existing_agent(agent_id)
    is_written, history = is_being_written(path), agent_history(read_events(path))
    if history.first is None:
        raise StreamDamaged(f"{agent_id}: the stream is empty", hint=HINT)
    review = None
    if history.end is not None and history.end.status == VERIFIED:
        run = folder.find_run(history.first.run_id)
        read = None if run is None else read_run_line(run)
        review = None if read is None else read[1].verdicts.get(agent_id)
    return _diagnose(history, history.first, review, is_written=is_written)


def _diagnose(
    history: AgentHistory, first: Event, review: Review | None, *, is_written: bool
) -> Diagnosis:
    end = history.end
    last = history.turns[-1].number if history.turns else 0
    try:
        cause = _find_cause(history, review, is_written=is_written)
        states = (turn.state for turn in history.turns if turn.number == cause.turn)
        dropped = [
            place for state in states for place in dropped_parts(state.packet, state.shown())
        ]
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
        dropped=tuple(Place(place.name, _quoted(place.text)) for place in dropped),
    )


def _find_cause(history: AgentHistory, review: Review | None, *, is_written: bool) -> Cause:
    end, last = history.end, history.last
    if end is None:
        assert last is not None  # the stream is not empty
        evidence = (Evidence(last.turn, last.seq, f"the last event: {last.type}"),)
        at = f"turn {last.turn}, after {last.type.replace('_', ' ')}"
        if is_written:
            return Cause("running", None, f"The agent is still running: {at}", evidence)
        text = f"Interrupted at {at}: the process ended before the agent did"
        return Cause("interrupted", last.turn, text, evidence)
    if review is not None and review.verdict == CONFLICT:
        return _explain_conflict(history, review)
    if end.status in WITH_RESULT and not end.error:
        return _explain_success(history, end)
    failure = _find_failure(history.turns, end)
    found = (
        _explain_stop(history, end) if failure is None else _explain_failure(history, end, failure)
    )
    done = "; rules completed the job" if end.status == VERIFIED else ""
    return msgspec.structs.replace(found, sentence=found.sentence + done)


def _explain_failure(history: AgentHistory, end: AgentEnd, failure: Failure) -> Cause:
    """Return what ended the last turn, what a packet lost, or else which call or check failed."""
    problem = _find_problem(history)
    if problem is not None and problem.kind != "bad_answer":
        return problem
    lost = _find_dropped(history, failure) or _find_lost_summary(history, failure)
    if lost is not None:
        return lost
    turn, number = failure.turn, failure.turn.number
    text = _quoted(failure.message.removeprefix(f"{failure.check}: "))
    chosen = f"{turn.call}, chosen by {'the model' if turn.is_of_model else 'a rule'}"
    evidence = (Evidence(number, turn.seq, chosen),)
    if failure.is_of_tool:
        sentence = f"{turn.tool} failed at turn {number}: {text}"
        return Cause("tool_failed", number, sentence, evidence)
    if failure.check:
        sentence = f"The check {failure.check} refused the change of turn {number}: {text}"
        return Cause("check_failed", number, sentence, evidence)
    return problem or _explain_stop(history, end)


def _find_failure(turns: list[Turn], end: AgentEnd) -> Failure | None:
    """Return the failure of an agent, or None if it has no turns."""
    message = end.error or ""
    if turns and end.stop_reason == "verification":
        changing = [turn for turn in turns if turn.has_changed]
        chosen = [turn for turn in changing if turn.is_of_model] or changing or turns
        return Failure(chosen[-1], message, check=message.partition(":")[0])
    succeeded = {SUBMIT}
    for turn in reversed(turns):
        if turn.is_error and turn.tool not in succeeded:
            same = (other for other in turns if other.is_error and other.call == turn.call)
            first = next(other for other in same if other.error == turn.error)
            return Failure(first, turn.error, is_of_tool=True)
        succeeded |= {turn.tool} if turn.result_seq is not None else set()
    acting = [turn for turn in turns if turn.problem or turn.tool not in ("", SUBMIT)] or turns
    return Failure(acting[-1], message) if acting else None


def _find_dropped(history: AgentHistory, failure: Failure) -> Cause | None:
    """Return a cause if the failure names what the budget removed from the model's packet."""
    last = history.turns[-1].number if failure.check else failure.turn.number
    decisions = [turn for turn in history.turns if turn.is_of_model and turn.number <= last]
    for turn in reversed(decisions):
        shown = turn.state.shown()
        dropped, kept = dropped_parts(turn.state.packet, shown), text_of(shown)
        for name in _names_of(failure):
            place = next((place for place in dropped if _occurs(name, place.text)), None)
            if place is None or _occurs(name, kept):
                continue
            lines = place.text.split("\n")
            line = next((line for line in lines if _occurs(name, line)), place.text)
            sentence = (
                f'The budget dropped the line "{_quoted(line)}" ({place.name}) from the packet of '
                f"turn {turn.number}, so the model decided without it; {_quoted(failure.message)}"
            )
            evidence = (Evidence(turn.number, turn.seq, turn.call),)
            return Cause("budget_dropped", turn.number, sentence, evidence)
    return None


def _find_lost_summary(history: AgentHistory, failure: Failure) -> Cause | None:
    """Return a cause if a tool reported the error, and the model's next packet lacks it."""
    for at, turn in enumerate(history.turns):
        later = next((after for after in history.turns[at + 1 :] if after.call), None)
        if later is None or not later.is_of_model:
            continue
        results = [
            other
            for other in history.turns
            if other.tool == turn.tool and other.result_seq is not None
        ]
        is_repaired = results and not (results[-1].reported or results[-1].is_error)
        lines = () if is_repaired else turn.reported
        if failure.is_of_tool or failure.check or turn.is_error:  # another one is known
            names = [] if turn is failure.turn else _names_of(failure)
            lines = tuple(line for line in lines if any(_occurs(name, line) for name in names))
        lost = next(iter(lost_errors(lines, later.state.shown())), None)
        if lost is not None and turn.number <= failure.turn.number:
            number, line, summary = turn.number, _quoted(lost), _quoted(turn.summary)
            then = _quoted(failure.message) if failure.message else "then it changed nothing"
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


def lost_errors(lines: Iterable[str], shown: DecisionPacket) -> list[str]:
    """Return the lines that report an error and that a packet does not have."""
    text = text_of(shown)
    return [line for line in lines if not _is_shown(line, text)]


def _occurs(name: str, text: str) -> bool:
    """Return True if a text contains a name as a whole word. White space is folded."""
    folded, line = " ".join(name.split()), " ".join(text.split())
    pattern = rf"(?<!\w){re.escape(folded)}(?!\w)"
    return bool(folded) and folded in line and re.search(pattern, line) is not None


def find_names(text: str) -> list[str]:
    """Return the identifiers, paths, line numbers and quoted texts in an error message."""
    text = text[:_MAX_MESSAGE]
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    return list(dict.fromkeys([*quoted, *_NAME.findall(text)]))


def _is_shown(line: str, shown: str) -> bool:
    """Return True if a packet has the message of an error, or all names in it."""
    message = " ".join(_MESSAGE.sub("", line).split())
    names = find_names(message)
    is_whole = message[:_CORE] in " ".join(shown.split())
    return is_whole or (bool(names) and all(_occurs(name, shown) for name in names))


def _names_of(failure: Failure) -> list[str]:
    """Return what the message of a failure names, but for what is known from the job itself."""
    packet = failure.turn.state.packet
    known = f"{packet.goal} {packet.node_id} {packet.agent_id} {failure.check}"
    path = packet.node_id.removeprefix("node:").rpartition(":")[0] + ":"
    names = find_names(failure.message)
    return [name for name in names if not _occurs(name, known) and not name.startswith(path)]


def _find_problem(history: AgentHistory) -> Cause | None:
    """Return the error that ended the last turn, unless a model decided in a later one."""
    for turn in reversed(history.turns):
        if turn.problem is not None and turn.problem[0] in _PROBLEMS:
            kind, beginning = _PROBLEMS[turn.problem[0]]
            number, text = turn.number, _quoted(turn.problem[1])
            evidence = (Evidence(number, turn.seq, text),)
            return Cause(kind, number, f"{beginning.format(number)}: {text}", evidence)
        if turn.problem is not None or turn.is_of_model:
            break
    return None


def _explain_conflict(history: AgentHistory, review: Review) -> Cause:
    places = [_quoted(f"{item.get('path')}: {item.get('detail')}") for item in review.detail]
    number = next((turn.number for turn in reversed(history.turns) if turn.has_changed), None)
    what = places[0] if places else "the same lines were changed"
    change = "the change" if number is None else f"the change of turn {number}"
    sentence = f"Conflict: {change} could not be merged with your files: {what}"
    evidence = tuple(Evidence(number or 0, None, text) for text in places[:10])
    return Cause("conflict", number, sentence, evidence)


def _explain_success(history: AgentHistory, end: AgentEnd) -> Cause:
    if end.status == VERIFIED:
        sentence = "Nothing failed: the agent submitted a change that passed all checks"
        return Cause("verified", None, sentence)
    last = next((turn for turn in reversed(history.turns) if turn.result_seq is not None), None)
    hidden = None if last is None else _find_lost_summary(history, Failure(last, ""))
    reason = history.no_change.text(None)
    said = f": {_quoted(reason)}" if reason else ""
    return hidden or Cause("no_change", None, f"Nothing failed: the agent changed nothing{said}")


def _explain_stop(history: AgentHistory, end: AgentEnd) -> Cause:
    """Return which rule stopped the agent, or that no cause was found."""
    number = history.turns[-1].number if history.turns else 0
    turns, said = count(number, "turn"), f"{end.status} ({end.stop_reason})"
    calls = tuple(Evidence(turn.number, turn.seq, turn.call) for turn in history.turns[-6:])
    call, times = (
        Counter(turn.call for turn in history.turns).most_common(1)[0] if calls else ("", 0)
    )
    is_loop = end.stop_reason in ("repeated_call", "no_progress")
    if is_loop or (end.stop_reason == "max_turns" and call and times >= _LOOPING):
        what = _quoted(end.error or said) if is_loop else f"the agent called {call} {times} times"
        return Cause("loop", number, f"Loop up to turn {number}: {what}", calls)
    if end.stop_reason == "max_turns":
        text = f"The agent was not done after {turns}, its limit, which --max-turns sets"
        return Cause("turn_limit", number, text)
    said += f": {_quoted(end.error)}" if end.error else ""
    text = f"No cause found in {turns} of the agent; it ended with {said}"
    return Cause("unknown", number or None, text)


def _quoted(text: str) -> str:
    """Return a message on one line, cut to a length that fits in a sentence, or that it is empty."""
    return clip(" ".join(text.split()), 240).rstrip(". ") or "without a message"
