"""Past state of an agent: the packet that was shown in a turn."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Annotated, NamedTuple

import msgspec

from remora.errors import NotFound, StreamDamaged, StreamError
from remora.memory.budget import trim
from remora.memory.events import (
    AgentError,
    AgentStart,
    ContextUpdate,
    Event,
    ModelRequest,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply, recorded_event, version_problem
from remora.trace.read.reader import Stream, decode_part, stream_events

_DECISIONS = frozenset({ModelRequest.type, ToolCalled.type, AgentError.type})
_PREPARING = frozenset({ContextUpdate.type, TurnStart.type})
HINT = "run `remora trace verify` for details"


class DecisionState(NamedTuple):
    """An untrimmed packet of a turn, and how it was trimmed.

    `trim` is the number of trim steps.
    """

    packet: DecisionPacket
    trim: int

    def shown(self) -> DecisionPacket:
        """Return the trimmed packet, as shown to the decider."""
        return trim(self.packet, self.trim)


class ShownPackets:
    """Selects the event of a turn before which its packet was shown.

    That is the last request to a model. Without a request, it is the decision. If a resumed turn
    was prepared twice, only the second time counts.
    """

    def __init__(self) -> None:
        self._is_asked = False

    def select(self, event: Event) -> bool:
        """Return True if the next event of the turn is shown a packet, in place of earlier ones."""
        if event.type == ModelRequest.type:
            self._is_asked = True
            return True
        if event.type in _PREPARING:
            self._is_asked = False
        return event.type in _DECISIONS and not self._is_asked


class _Turn:
    """The packet that was shown in a turn, or None if nothing was decided yet.

    A result without a recorded decision was decided on the packet before it.
    """

    def __init__(self) -> None:
        self.shown: DecisionState | None = None
        self._packets = ShownPackets()

    def add(self, event: Event, packet: DecisionPacket) -> None:
        """Add the next event of the turn. `packet` is the packet before it."""
        is_shown, trim_steps = self._packets.select(event), trim_of_decision(event)
        if is_shown and trim_steps is not None:
            self.shown = DecisionState(packet, trim_steps)
        elif event.type == ToolResulted.type and self.shown is None:
            self.shown = DecisionState(msgspec.structs.replace(packet, turn=event.turn), 0)


def packet_at(stream: Stream, turn: int, *, shown: bool = True) -> DecisionPacket:
    """Return the packet that the model saw in a turn, untrimmed if `shown` is False.

    `stream` is the path of a stream, or its events, lines or dicts. `ShownPackets` defines which
    packet it is. If the turn has no decision, it is the packet before its first result, or else at
    its end. For turn 0, it is the packet at the start of the first turn.

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
    """Yield every turn with the packet that was shown, which `packet_at` defines.

    The stream is read once.

    Raises StreamError if the version of the fold or trim rules is unknown.
    """
    packet: DecisionPacket | None = None
    for turn, group in groupby(events, key=lambda event: event.turn):
        found = _Turn()
        for event in group:
            if packet is None:
                packet = start_packet(event)
            else:
                found.add(event, packet)
            packet = packet and _applied(packet, event)
        if packet is not None:
            yield turn, found.shown or DecisionState(packet, 0)


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
