"""The turns of an agent, folded from its events. Readers of agents' streams are functions of them.

A turn is one decision and what it led to. Its events come in this order:

    turn_start  context_update…            the packet is prepared
    model_request  model_response  …       models are asked, with an escalation between them
    tool_call  tool_result                 the call and its result
    submit_result | agent_error            what the checks say, or why the turn has no call

Turn 0 is what precedes the first turn. A turn that was interrupted may have a part of this twice.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec

from remora.chat import Usage
from remora.errors import NotFound, StreamDamaged, StreamError
from remora.memory.budget import trim
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    ContextUpdate,
    Escalation,
    Event,
    ModelRequest,
    ModelResponse,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply, recorded_event, version_problem
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import resolved_event
from remora.trace.read.reader import Stream, decode_part, stream_events

_DECISIONS = frozenset({ModelRequest.type, ToolCalled.type, AgentError.type})
_PREPARING = frozenset({ContextUpdate.type, TurnStart.type})
HINT = "run `remora trace verify` for details"


class DecisionState(NamedTuple):
    """An untrimmed packet of a turn, and how it was trimmed."""

    packet: DecisionPacket
    trim: int
    """The number of trim steps."""

    def shown(self) -> DecisionPacket:
        """Return the trimmed packet, as shown to the decider."""
        return trim(self.packet, self.trim)


class CheckData(msgspec.Struct):
    """The result of a check of a submission."""

    name: str = ""
    ok: bool = False
    detail: Any = None


class EventData(msgspec.Struct):
    """The fields of events that lists and causes of failures need.

    Other fields may be large, or in blobs.

    A text is of any type if it may be in a blob.
    """

    prompt_tokens: int = 0
    trim: int | None = None
    usage: Usage = Usage()
    tool: str = ""
    args: dict[str, Any] = {}
    decided_by: str = "rule"
    outcome: str = ""
    duration_ms: int = 0
    changes: list[msgspec.Raw] = []
    raw_output: msgspec.Raw = msgspec.Raw(b"null")
    verified: bool = False
    checks: list[CheckData] = []
    kind: str = ""
    message: Any = ""
    status: str = ""
    stop_reason: str = ""
    error: Any = None


class Step(msgspec.Struct):
    """A request to a model, or a call of a tool, and what followed."""

    event: Event
    """The `model_request` or `tool_call`."""
    reply: Event | None = None
    """Its `model_response` or `tool_result`, or None if there is none."""
    follower: Event | None = None
    """The event of the turn after a request: the answer, an error, or the request again."""

    @property
    def milliseconds(self) -> int:
        """The time from a request to the next event. It is 0 if a time cannot be read."""
        with suppress(ValueError, TypeError):  # a time that no run of ours has written
            if self.follower is not None:
                times = self.event.timestamp, self.follower.timestamp
                began, ended = map(datetime.fromisoformat, times)
                return round((ended - began).total_seconds() * 1000)
        return 0


class AgentTurn(msgspec.Struct, kw_only=True):
    """A turn, with its events by what they mean. Their data is not decoded."""

    number: int
    """The number of the turn. Forks may begin with a later turn than 1."""
    events: list[Event] = []
    """All events, in order."""
    start: Event | None = None
    """The `agent_start` event. Only the first turn of a stream has it."""
    updates: list[Event] = []
    """The `context_update` events."""
    requests: list[Step] = []
    """The requests to models, with their answers."""
    escalations: list[Event] = []
    """The `escalation` events: the requests after one went to the larger model."""
    calls: list[Step] = []
    """The calls, each with its result. A turn has one, unless it was decided again."""
    results: list[Event] = []
    """All `tool_result` events, including those without a recorded call."""
    submissions: list[Event] = []
    """The `submit_result` events, which have the results of the checks."""
    errors: list[Event] = []
    """The `agent_error` events. Each ended the turn."""
    end: Event | None = None
    """The `agent_end` event. Only the last turn has it."""
    packets: list[DecisionPacket | None] = []
    """The packet before each event, or None before `agent_start`. Only `folded_turns` sets it."""
    after: DecisionPacket | None = None
    """The packet after the last event. Only `folded_turns` sets it."""

    def add(self, event: Event) -> None:
        """Add the next event of the turn."""
        self.events.append(event)
        for request in self.requests[-1:]:
            request.follower = request.follower or event
        if event.type in _STEPS:
            _STEPS[event.type](self).append(Step(event))
        elif event.type == ModelResponse.type:
            _reply(self.requests[-1:], event)
        elif event.type == ToolResulted.type:
            _reply(self.calls, event)
        if event.type in _EVENTS:
            _EVENTS[event.type](self).append(event)
        elif event.type == AgentStart.type:
            self.start = event
        elif event.type == AgentEnd.type:
            self.end = event

    def packet_before(self, event: Event) -> DecisionPacket | None:
        """Return the packet before an event of the turn, or None if it is unknown."""
        pairs = zip(self.events, self.packets, strict=False)
        return next((packet for other, packet in pairs if other is event), None)

    @property
    def decision(self) -> Event | None:
        """The first request or decision after the last time that the turn was prepared.

        Raises StreamDamaged if a decision is invalid.
        """
        found, is_prepared = None, True
        for event in self.events:
            is_prepared = is_prepared or event.type in _PREPARING
            if is_prepared and trim_of_decision(event) is not None:
                found, is_prepared = event, False
        return found

    @property
    def shown(self) -> DecisionState | None:
        """The packet that was shown to the decider, or None if it is unknown.

        That is the packet before the last request to a model. Without a request, it is the one
        before the decision. If a resumed turn was prepared twice, only the second time counts. A
        result without a recorded decision was decided on the packet before it. If nothing was
        decided, it is the packet at the end of the turn.

        Raises StreamDamaged if a decision is invalid.
        """
        found, is_asked = None, False
        for event, packet in zip(self.events, self.packets, strict=True):
            if packet is None:
                continue
            is_request = event.type == ModelRequest.type
            is_shown = is_request or not is_asked
            is_asked = event.type not in _PREPARING and (is_asked or is_request)
            trim_steps = trim_of_decision(event)
            if is_shown and trim_steps is not None:
                found = DecisionState(packet, trim_steps)
            elif event.type == ToolResulted.type and found is None:
                found = DecisionState(msgspec.structs.replace(packet, turn=event.turn), 0)
        return found if found or self.after is None else DecisionState(self.after, 0)


_STEPS: dict[str, Callable[[AgentTurn], list[Step]]] = {
    ModelRequest.type: attrgetter("requests"),
    ToolCalled.type: attrgetter("calls"),
}
_EVENTS: dict[str, Callable[[AgentTurn], list[Event]]] = {
    ContextUpdate.type: attrgetter("updates"),
    Escalation.type: attrgetter("escalations"),
    ToolResulted.type: attrgetter("results"),
    SubmitResult.type: attrgetter("submissions"),
    AgentError.type: attrgetter("errors"),
}


def _reply(steps: list[Step], event: Event) -> None:
    """Give the first step without a reply its reply."""
    for step in steps:
        if step.reply is None:
            step.reply = event
            return


def agent_turns(events: Iterable[Event]) -> Iterator[AgentTurn]:
    """Yield the turns of a stream or of a part of it, each after its last event was read."""
    for number, group in groupby(events, key=lambda event: event.turn):
        yield turn_of_events(number, group)


def turn_of_events(number: int, events: Iterable[Event]) -> AgentTurn:
    """Return the turn that has these events."""
    turn = AgentTurn(number=number)
    for event in events:
        turn.add(event)
    return turn


def folded_turns(events: Iterable[Event], blobs: ObjectStore | None = None) -> Iterator[AgentTurn]:
    """Yield the turns of a stream with their packets. `blobs` has long texts of the first packet.

    Raises StreamDamaged if an event is invalid, and StreamError if the version of the fold or trim
    rules is unknown.
    """
    packet: DecisionPacket | None = None
    for turn in agent_turns(events):
        for event in turn.events:
            if packet is None:
                packet = start_packet(event if blobs is None else resolved_event(event, blobs))
            turn.packets.append(packet)
            packet = packet and _applied(packet, event)
        turn.after = packet
        yield turn


def packet_at(stream: Stream, turn: int, *, shown: bool = True) -> DecisionPacket:
    """Return the packet that the model saw in a turn, untrimmed if `shown` is False.

    `stream` is the path of a stream, or its events, lines or dicts. `AgentTurn.shown` defines which
    packet it is. For turn 0, it is the packet at the start of the first turn.

    Raises NotFound if the turn does not exist, StreamDamaged if this is not an agent's stream, and
    StreamError if the version of the fold or trim rules is unknown.
    """
    found: DecisionState | None = None
    turns: list[int] = []
    for number, state in each_decision(map(recorded_event, stream_events(stream))):
        if found is not None and number > turn:
            break
        begun = state.packet.turn  # that of a fork, before its first turn
        if not turns and 0 < turn < begun:
            raise NotFound(
                f"no turn {turn} in the stream",
                hint=f"this agent is a fork that begins with turn {begun}; "
                "see its parent for earlier turns",
            )
        turns += (number, begun)
        if turn in (number, begun):
            found = state
    if not turns:
        raise StreamDamaged(
            "the stream has no agent_start", hint="only agents' streams contain packets"
        )
    if found is None:
        raise turn_not_found(turn, turns)
    return found.shown() if shown else found.packet


def each_decision(events: Iterable[Event]) -> Iterator[tuple[int, DecisionState]]:
    """Yield the number of every turn with the packet that was shown in it.

    Raises StreamError if the version of the fold or trim rules is unknown.
    """
    for turn in folded_turns(events):
        if (shown := turn.shown) is not None:
            yield turn.number, shown


def turn_not_found(turn: int, turns: list[int]) -> NotFound:
    """Return the error for a missing turn.

    `turns` contains the turn numbers in the stream. They do not have to start at 1.
    """
    there = [number for number in turns if number > 0]
    hint = f"the stream has turns {min(there)} to {max(there)}" if there else "it has no turns yet"
    return NotFound(f"no turn {turn} in the stream", hint=hint)


def start_packet(event: Event) -> DecisionPacket | None:
    """Return the packet of an `agent_start` event without its delta, or None for any other event.

    Raises StreamDamaged if the event is invalid, and StreamError if the version of the fold or trim
    rules is unknown.
    """
    if event.type != AgentStart.type:
        return None
    start = decode_part(event, _Started)
    unknown = version_problem(start.fold, start.trim)
    if unknown is not None:
        raise StreamError(
            f"{event.agent_id}: {unknown}",
            hint="this stream was written by a newer version of Remora; "
            "use that version to read it",
        )
    return start.packet


def _applied(packet: DecisionPacket, event: Event) -> DecisionPacket:
    try:
        return apply(packet, event.packet_delta)
    except RecursionError as error:
        raise StreamDamaged(
            f"{event.agent_id}: event {event.seq} is nested too deeply", hint=HINT
        ) from error


# Only these fields are decoded; others may hold references to blobs.
class _Started(msgspec.Struct):
    packet: DecisionPacket
    fold: str = "fold/1"
    trim: str = "trim/1"


class _Shown(msgspec.Struct):
    packet_sha256: str | None = None
    trim: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None


def trim_of_decision(event: Event) -> int | None:
    """Return the number of trim steps of a decision event, or None for other events."""
    if event.type not in _DECISIONS:
        return None
    named = decode_part(event, _Shown)
    return named.trim or 0 if named.packet_sha256 else None
