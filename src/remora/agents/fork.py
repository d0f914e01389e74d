"""Fork points, and the `agent_start` events of forks and retries."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.decision.query_settings import QuerySettings, model_record
from remora.agents.definition.agent import Agent, definition_record
from remora.agents.job import Job
from remora.agents.loop.change_tracker import net_changes
from remora.errors import NotFound, StreamDamaged
from remora.memory.delta import PacketDelta, knowledge
from remora.memory.events import AgentStart, Change, ContextUpdate, Event, ToolResulted, TurnStart
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.models.protocol import Model
from remora.trace.read.agent_turns import start_packet, trim_of_decision
from remora.trace.read.reader import decode_part, typed_payload
from remora.trace.redact.redactor import Redactor

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
        self._changes: list[Change] = []
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
        self._changes = list(start.changes)
        self._seen = max(self._seen, start.packet.turn)

    def _take(self, event: Event) -> None:
        if event.type in _PREPARING:
            self._is_prepared = True
        if event.turn == self._turn and self._is_prepared and trim_of_decision(event) is not None:
            self._point = self._made(decides=True, turn=self._turn)
            self._is_prepared = False
        if event.type == ToolResulted.type:
            self._changes += decode_part(event, _Changes).changes
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
            changes=net_changes(self._changes),
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


class _Changes(msgspec.Struct):
    changes: tuple[Change, ...] = ()


FEEDBACK = "feedback"
"""Pinned knowledge key of a person's feedback on an earlier attempt."""


def fork_start(point: ForkPoint, job: Job, *, feedback: str | None = None) -> AgentStart:
    """Return the first event of an agent forked at `point`.

    The agent's ID and attempt number come from `job`. The definition, tools and model are copied
    from the parent. Use `with_agent` and `with_model` to replace them.
    """
    packet = replace(point.packet, agent_id=job.agent_id, run_id=job.run_id)
    if feedback is not None:
        packet = apply(packet, PacketDelta(update_knowledge=knowledge({FEEDBACK: feedback})))
    return replace(
        point.start,
        packet=packet,
        attempt=job.attempt,
        parent={
            "run_id": job.run_id,
            "agent_id": point.agent_id,
            "seq": point.seq,
            "hash": point.hash,
        },
        changes=point.changes,
        first_turn=point.turn,
        decides=point.decides,
    )


def restart_start(
    point: ForkPoint, job: Job, rebased: Mapping[str, Any], *, feedback: str | None = None
) -> AgentStart:
    """Return the first event of an agent that starts again because files have changed.

    `point` is at turn 0 of the previous agent, and `rebased` describes the changed files. The new
    agent's first packet contains the node summary from `job`.
    """
    packet = replace(point.start.packet, node_summary=job.node_summary)
    first = replace(point, packet=packet, changes=(), turn=0, decides=False)
    return replace(fork_start(first, job, feedback=feedback), rebased=dict(rebased))


def with_agent(start: AgentStart, agent: Agent, redact: Redactor) -> AgentStart:
    """Return the start event with the current definition and tools of the agent.

    If either has changed, `decides` is set to false.
    """
    definition, tools = redact.clean(definition_record(agent)), redact.clean(agent.schemas)
    same = definition == start.definition and tools == start.tools
    return replace(
        start,
        definition=definition,
        tools=tools,
        redaction=redact.version,
        decides=start.decides and same,
    )


def with_model(start: AgentStart, model: Model, settings: QuerySettings) -> AgentStart:
    """Return the start event with a different model.

    If the one who decides or the way to ask changes, the turn's candidates are computed again,
    because different candidates may be valid.
    """
    before = start.model.get("strategy"), start.model.get("decisions")
    same = before == (settings.strategy, settings.decisions)
    return replace(
        start,
        model=model_record(model, settings),
        counter=model.counter.name,
        limit=settings.limit,
        renderer=settings.renderer,
        decides=start.decides and same,
    )
