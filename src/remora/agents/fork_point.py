"""Fork points: the state of an agent before a turn's decision."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from remora.errors import NotFound, StreamDamaged
from remora.memory.events import (
    AgentError,
    AgentStart,
    Change,
    ContextUpdate,
    Event,
    ModelRequest,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.trace.read.reader import decode_part, typed_payload
from remora.trace.read.state_at import start_packet

_DECISIONS = frozenset({ModelRequest.type, ToolCalled.type, AgentError.type})
_PREPARING = frozenset({ContextUpdate.type, TurnStart.type})


class ForkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an agent before a turn's decision, with everything that a fork needs.

    - `packet` is the packet before trimming.
    - `changes` contains the file changes from the agent's start up to this turn's call.
    - `seq` and `hash` identify the last stream line included.
    - `turn` is the fork's first turn.
    - `decides` is true if only the decision of that turn remains to be made.
    """

    agent_id: str
    start: AgentStart
    packet: DecisionPacket
    changes: tuple[Change, ...]
    seq: int
    hash: str
    turn: int
    decides: bool


def fork_point_at(events: Iterable[Event], turn: int) -> ForkPoint:
    """Return the fork point at `turn`.

    The point is before the turn's decision, or at the end of the stream if the turn has no
    decision. At turn 0, it is after the context scripts.

    Raises NotFound if there is no such turn, StreamDamaged if this is not the stream of an agent,
    and StreamError if the stream uses unknown folding rules.
    """
    cutting = _ForkPointFold(turn)
    for event in events:
        cutting.add(event)
    return cutting.result()


class _ForkPointFold:
    """Builds a fork point from a sequence of events."""

    def __init__(self, turn: int) -> None:
        self._turn = turn
        self._start: AgentStart | None = None
        self._packet: DecisionPacket | None = None
        self._changes: dict[str, Change] = {}
        self._last: Event | None = None
        self._first: Event | None = None
        self._point: ForkPoint | None = None
        self._is_prepared = True
        """True if facts or candidates were recorded since the point was made."""
        self._seen = 0

    def add(self, event: Event) -> None:
        self._seen = max(self._seen, event.turn)
        if self._start is None:
            self._begin(event)
        elif event.turn <= self._turn:
            self._take(event)

    def result(self) -> ForkPoint:
        if self._start is None or self._packet is None or self._first is None:
            raise StreamDamaged("no agent_start in the stream", hint="only agents can be forked")
        begun = self._start.packet.turn
        if self._turn == 0 and (begun or not self._seen):
            return self._beginning(self._first, self._start)
        if self._turn > self._seen or self._turn < begun:
            last = f"{begun or 0} to {self._seen}"
            raise NotFound(
                f"no turn {self._turn} in the stream", hint=f"the stream has turns {last}"
            )
        return self._point or self._made(decides=self._ready, turn=self._turn or 1)

    @property
    def _ready(self) -> bool:
        """Return True if the stream is that of a fork that has not run and starts at a decision."""
        start = self._start
        return start is not None and start.decides and self._last is self._first

    def _begin(self, event: Event) -> None:
        packet, start = start_packet(event), typed_payload(event)
        if packet is None or not isinstance(start, AgentStart):
            return
        self._start, self._first, self._last = start, event, event
        self._packet = apply(packet, event.packet_delta)
        self._changes = {change.path: change for change in start.changes}
        self._seen = max(self._seen, start.packet.turn)

    def _take(self, event: Event) -> None:
        decision = event.type in _DECISIONS and decode_part(event, _Shown).packet_sha256
        if event.type in _PREPARING and decode_part(event, _Source).source != "trials":
            self._is_prepared = True
        if event.turn == self._turn and decision and self._is_prepared:
            self._point = self._made(decides=True, turn=self._turn)
            self._is_prepared = False
        if event.type == ToolResulted.type:
            for change in decode_part(event, _Changes).changes:
                first = self._changes.get(change.path, change)
                self._changes[change.path] = replace(change, before=first.before)
        assert self._packet is not None
        self._packet = apply(self._packet, event.packet_delta)
        self._last = event

    def _made(self, *, decides: bool, turn: int) -> ForkPoint:
        assert self._start is not None
        assert self._packet is not None
        assert self._last is not None
        return ForkPoint(
            agent_id=self._last.agent_id,
            start=self._start,
            packet=self._packet,
            changes=_net(self._changes.values()),
            seq=self._last.seq,
            hash=self._last.hash,
            turn=turn,
            decides=decides,
        )

    def _beginning(self, first: Event, start: AgentStart) -> ForkPoint:
        return ForkPoint(
            agent_id=first.agent_id,
            start=start,
            packet=start.packet,
            changes=start.changes,
            seq=first.seq,
            hash=first.hash,
            turn=start.first_turn,
            decides=start.decides,
        )


class _Source(msgspec.Struct):
    source: str = ""


class _Shown(msgspec.Struct):
    packet_sha256: str | None = None


class _Changes(msgspec.Struct):
    changes: tuple[Change, ...] = ()


def _net(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes sorted by path, without files that were created and then deleted."""
    found = (c for c in changes if c.before is not None or c.after is not None)
    return tuple(sorted(found, key=lambda change: change.path))
