"""Turns of an agent with their errors as texts, in which the cause of a failure is found."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from remora.memory.canonical import json_text
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event
from remora.memory.packet import DecisionPacket
from remora.runs.records.no_change_reason import NoChangeReason
from remora.statuses import shown_status
from remora.text import clip
from remora.trace.read.agent_turns import AgentTurn, DecisionState, EventData, folded_turns
from remora.trace.read.reader import decode_part

_MAX_BYTES = 4 * 1024 * 1024
"""Size from which an output is not searched."""
_MAX_ERRORS, _MAX_LINE = 5, 300
"""Lines of an output that are kept, and characters of each (decision: a diagnosis quotes one)."""
_REPORTS = re.compile(
    r"(?i:(?:[\w./-]+:\d+(?::\d+)?: )?(?:fatal |internal )?(?:error|fatal|panic)(?:\[\w+\])?: *\S)"
    r"|(?:\w+\.)*[A-Z]\w*(?:Error|Exception): *\S"
    r"|(?:FAILED|ERROR) \S"
)
"""Matches lines in which compilers, Python and pytest report an error."""
_ERROR_KEYS = frozenset({"error", "errors", "stderr", "exception", "failure"})
"""Keys of an output whose texts are errors."""
_BY_MODEL = frozenset({"model", "escalation", "fallback"})


class Turn(msgspec.Struct):
    """A turn of an agent."""

    number: int
    state: DecisionState
    """The packet that the model saw."""
    seq: int | None = None
    """The event of the decision."""
    tool: str = ""
    call: str = ""
    """The decision as text."""
    is_of_model: bool = False
    problem: tuple[str, str] | None = None
    """The kind and the text of an error that ended the turn without a call."""
    result_seq: int | None = None
    """The event of the call's result."""
    is_error: bool = False
    error: str = ""
    summary: str = ""
    """The text that the packet keeps of the result."""
    has_changed: bool = False
    """True if the call changed files."""
    reported: tuple[str, ...] = ()
    """The first lines of the raw output that report an error."""


class AgentHistory(msgspec.Struct):
    """An agent from its first to its last event."""

    first: Event | None = None
    last: Event | None = None
    turns: list[Turn] = []
    end: AgentEnd | None = None
    no_change: NoChangeReason = msgspec.field(default_factory=NoChangeReason)
    """Finds the reason for changing nothing."""


def agent_history(events: Iterable[Event]) -> AgentHistory:
    """Return the history in a stream. Raises StreamDamaged if the data of an event is invalid."""
    history = AgentHistory()
    for turn in folded_turns(events):
        history.first, history.last = history.first or turn.events[0], turn.events[-1]
        history.turns += [_describe_turn(turn)] if turn.number else []
        history.end = (
            history.end if turn.end is None else _describe_end(decode_part(turn.end, EventData))
        )
        for event in turn.events:
            history.no_change.add(event)
    return history


def _describe_turn(turn: AgentTurn) -> Turn:
    found = Turn(turn.number, turn.shown or DecisionState(DecisionPacket(), 0))
    for called in turn.calls:
        data = decode_part(called.event, EventData)
        args = (f"{key}={clip(json_text(value), 60)}" for key, value in data.args.items())
        found.seq, found.tool = called.event.seq, data.tool
        found.is_of_model = data.decided_by in _BY_MODEL
        found.call = clip(f"{data.tool}({', '.join(args)})", 160)
    for result in turn.results:
        data = decode_part(result, EventData)
        action = (result.packet_delta or PacketDelta()).add_action
        found.result_seq, found.tool = result.seq, data.tool
        found.is_error, found.error = data.outcome == "error", _plain_text(data.error)
        found.summary = "" if action is msgspec.UNSET else action.summary
        found.has_changed, found.reported = bool(data.changes), reported_errors(data.raw_output)
    for error in turn.errors:
        data = decode_part(error, EventData)
        found.seq, found.problem = error.seq, (data.kind, _plain_text(data.message))
    return found


def _describe_end(data: EventData) -> AgentEnd:
    error = None if data.error is None else _plain_text(data.error)
    status, reason = shown_status(data.status), shown_status(data.stop_reason)
    return AgentEnd(status=status, stop_reason=reason, error=error)


def reported_errors(raw: msgspec.Raw) -> tuple[str, ...]:
    """Return the first lines of an output that report an error.

    Of the texts that the stream keeps elsewhere, the first and last lines are searched.
    """
    if len(bytes(raw)) > _MAX_BYTES:
        return ()
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:  # Remora does not record such data, but a stream may have it
        return ()
    return errors_in(value)


def errors_in(value: Any) -> tuple[str, ...]:
    """Return the first lines of a JSON value that report an error."""
    lines = (
        line.strip()[:_MAX_LINE]
        for text, is_error in _leaves(value)
        for line in text.splitlines()
        if (is_error and line.strip()) or _REPORTS.match(line.strip())
    )
    return tuple(islice(dict.fromkeys(lines), _MAX_ERRORS))


def _plain_text(value: Any) -> str:
    """Return a recorded text. Of a text that is stored elsewhere, return its first lines."""
    match value:
        case None:
            return ""
        case {"$blob": {"first": list(first)}}:
            return "\n".join(map(str, first))
    return str(value)


def _leaves(value: Any) -> Iterator[tuple[str, bool]]:
    """Yield each text in JSON data, and True if it is the value of a key for errors."""
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        item, is_error = stack.pop()
        if isinstance(item, dict):
            members = [(member, is_error or name in _ERROR_KEYS) for name, member in item.items()]
            stack.extend(reversed(members))
        elif isinstance(item, list):
            stack.extend((member, is_error) for member in reversed(item))
        elif isinstance(item, str):
            yield item, is_error
