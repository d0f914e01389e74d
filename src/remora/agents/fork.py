"""Where a stream is cut for a fork, and the `agent_start` of the agent that goes on from there."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.agent import Agent, definition_record
from remora.agents.asking import Asking, model_record
from remora.agents.job import Job
from remora.errors import NotFound, StreamDamaged
from remora.memory.delta import PacketDelta, knowledge
from remora.memory.events import (
    AgentError,
    AgentStart,
    Change,
    Event,
    ModelRequest,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.models import Model
from remora.trace.reader import part, typed
from remora.trace.redact import Redactor

FEEDBACK = "feedback"
"""The pinned knowledge key that holds what a person said of an earlier attempt."""
_DECISIONS = frozenset({ModelRequest.type, ToolCalled.type, AgentError.type})


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A stream up to a turn's decision: all that the agent after it needs.

    `packet` is whole, not as it was trimmed for the decision; `changes` lead from the files that
    the agent's run began with to those before the turn's call. `seq` and `hash` are the last
    line's that is part of it. `turn` comes next; `decides` says that only the decision is missing.
    """

    agent_id: str
    start: AgentStart
    packet: DecisionPacket
    changes: tuple[Change, ...]
    seq: int
    hash: str
    turn: int
    decides: bool


def cut_at(events: Iterable[Event], turn: int) -> Cut:
    """Cut an agent's stream at turn `turn`: before its decision or, where it never came to one,
    where it ends; at turn 0 after the context scripts.

    Raises NotFound that names the turns there are, StreamDamaged for no agent's stream.
    """
    cutting = _Cutting(turn)
    for event in events:
        cutting.see(event)
    return cutting.result()


def forked(cut: Cut, job: Job, *, feedback: str | None = None) -> AgentStart:
    """The first event of the agent that goes on from `cut`, whose id and attempt are the `job`'s.

    Definition, tools and model are the parent's; `with_agent` and `with_model` change them.
    """
    packet = replace(cut.packet, agent_id=job.agent_id, run_id=job.run_id)
    return replace(
        cut.start,
        packet=_told(packet, feedback),
        attempt=job.attempt,
        parent=_parent(cut, job),
        changes=cut.changes,
        first_turn=cut.turn,
        decides=cut.decides,
    )


def begun_anew(
    cut: Cut, job: Job, rebased: Mapping[str, Any], *, feedback: str | None = None
) -> AgentStart:
    """The first event of an agent that begins again, on files that moved on (`rebased`).

    `cut` is one at turn 0 of the agent before it, whose first packet it takes, with `job`'s
    summary of the node.
    """
    packet = replace(
        cut.start.packet, agent_id=job.agent_id, run_id=job.run_id, node_summary=job.node_summary
    )
    return replace(
        cut.start,
        packet=_told(packet, feedback),
        attempt=job.attempt,
        parent=_parent(cut, job),
        rebased=dict(rebased),
        changes=(),
        first_turn=0,
        decides=False,
    )


def with_agent(start: AgentStart, agent: Agent, redact: Redactor) -> AgentStart:
    """The start with the agent as it is now; what it offers may be another then."""
    definition, tools = redact.clean(definition_record(agent)), redact.clean(agent.schemas)
    same = definition == start.definition and tools == start.tools
    return replace(
        start,
        definition=definition,
        tools=tools,
        redaction=redact.version,
        decides=start.decides and same,
    )


def with_model(start: AgentStart, model: Model, asking: Asking) -> AgentStart:
    """The start with another model. Where that is asked in another way, other candidates may be
    valid: the turn's candidates are then looked for again."""
    same = start.model.get("strategy") == asking.strategy
    return replace(
        start,
        model=model_record(model, asking),
        counter=model.counter.name,
        limit=asking.limit,
        renderer=asking.renderer,
        decides=start.decides and same,
    )


class _Cutting:
    """The fold of `cut_at`."""

    def __init__(self, turn: int) -> None:
        self._turn = turn
        self._start: AgentStart | None = None
        self._packet: DecisionPacket | None = None
        self._changes: dict[str, Change] = {}
        self._last: Event | None = None
        self._first: Event | None = None
        self._cut: Cut | None = None
        self._seen = 0

    def see(self, event: Event) -> None:
        self._seen = max(self._seen, event.turn)
        if self._start is None:
            self._begin(event)
        elif event.turn <= self._turn:
            self._take(event)

    def result(self) -> Cut:
        if self._start is None or self._packet is None or self._first is None:
            raise StreamDamaged("no agent_start in the stream", hint="only agents can be forked")
        begun = self._start.packet.turn
        if self._turn == 0 and (begun or not self._seen):
            return self._beginning(self._first, self._start)
        if self._turn > self._seen or self._turn < begun:
            last = f"{begun or 0} to {self._seen}"
            raise NotFound(f"no turn {self._turn} in the stream", hint=f"its turns are {last}")
        return self._cut or self._made(decides=self._ready, turn=self._turn or 1)

    @property
    def _ready(self) -> bool:
        """Whether a fork that was not run yet stands before the very decision."""
        start = self._start
        return start is not None and start.decides and self._last is self._first

    def _begin(self, event: Event) -> None:
        if event.type != AgentStart.type:
            return
        start = typed(event)
        assert isinstance(start, AgentStart)
        self._start, self._first, self._last = start, event, event
        self._packet = apply(start.packet, event.packet_delta)
        self._changes = {change.path: change for change in start.changes}
        self._seen = max(self._seen, start.packet.turn)

    def _take(self, event: Event) -> None:
        decision = event.type in _DECISIONS and part(event, _Shown).packet_sha256
        known = self._cut is not None and self._cut.packet is self._packet
        if event.turn == self._turn and decision and not known:
            self._cut = self._made(decides=True, turn=self._turn)
        if event.type == ToolResulted.type:
            for change in part(event, _Changes).changes:
                first = self._changes.get(change.path, change)
                self._changes[change.path] = replace(change, before=first.before)
        assert self._packet is not None
        self._packet = apply(self._packet, event.packet_delta)
        self._last = event

    def _made(self, *, decides: bool, turn: int) -> Cut:
        assert self._start is not None
        assert self._packet is not None
        assert self._last is not None
        return Cut(
            agent_id=self._last.agent_id,
            start=self._start,
            packet=self._packet,
            changes=_net(self._changes.values()),
            seq=self._last.seq,
            hash=self._last.hash,
            turn=turn,
            decides=decides,
        )

    def _beginning(self, first: Event, start: AgentStart) -> Cut:
        """As it began: a fork, or an agent that was cut before its first turn."""
        return Cut(
            agent_id=first.agent_id,
            start=start,
            packet=start.packet,
            changes=start.changes,
            seq=first.seq,
            hash=first.hash,
            turn=start.first_turn,
            decides=start.decides,
        )


class _Shown(msgspec.Struct):
    packet_sha256: str | None = None


class _Changes(msgspec.Struct):
    changes: tuple[Change, ...] = ()


def _net(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Without files that came and went."""
    found = (c for c in changes if c.before is not None or c.after is not None)
    return tuple(sorted(found, key=lambda change: change.path))


def _told(packet: DecisionPacket, feedback: str | None) -> DecisionPacket:
    if feedback is None:
        return packet
    return apply(packet, PacketDelta(update_knowledge=knowledge({FEEDBACK: feedback})))


def _parent(cut: Cut, job: Job) -> dict[str, Any]:
    return {"run_id": job.run_id, "agent_id": cut.agent_id, "seq": cut.seq, "hash": cut.hash}
