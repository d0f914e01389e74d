"""Fork points, and the `agent_start` events of forks and retries."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.decision.query_settings import QuerySettings, model_record
from remora.agents.definition.agent import Agent, definition_record
from remora.agents.job import Job
from remora.agents.loop.change_tracker import net_changes
from remora.errors import NotFound, StreamDamaged
from remora.memory.delta import PacketDelta, knowledge
from remora.memory.events import AgentStart, Change, Event
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.models.protocol import Model
from remora.trace.read.agent_turns import AgentTurn, folded_turns
from remora.trace.read.reader import decode_part, payload_of
from remora.trace.redact.redactor import Redactor

UpdateStart = Callable[[Job, AgentStart], AgentStart]
"""Updates an attempt's start with the current agent or another model."""


class ForkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an agent before a turn's decision, with everything that a fork needs."""

    agent_id: str
    start: AgentStart
    packet: DecisionPacket
    """The packet before trimming."""
    changes: tuple[Change, ...]
    """The file changes from the agent's start up to this turn's call."""
    seq: int
    """Number of the last stream line included."""
    hash: str
    """Hash of that line."""
    turn: int
    """The fork's first turn."""
    decides: bool
    """True if only the decision of that turn remains to be made."""


def fork_point_at(events: Iterable[Event], turn: int) -> ForkPoint:
    """Return the fork point at `turn`.

    The point is before the turn's decision, or at the end of the stream if the turn has no
    decision. At turn 0, it is after the context scripts.

    Raises NotFound if there is no such turn, StreamDamaged if this is not the stream of an agent,
    and StreamError if the stream uses unknown folding rules.
    """
    start, first, point, seen = None, None, None, 0
    for current in folded_turns(events):
        seen = max(seen, current.number)
        if start is None and current.start is not None:
            first, start = current.start, payload_of(current.start, AgentStart)
            seen = max(seen, start.packet.turn)
            point = _beginning(first, start)
        if point is not None and current.number <= turn:
            point = _continued(point, current, turn)
    if start is None or first is None or point is None:
        raise StreamDamaged("no agent_start in the stream", hint="only agents can be forked")
    begun = start.packet.turn
    if turn == 0 and (begun or not seen):
        return _beginning(first, start)
    if turn > seen or turn < begun:
        last = f"{begun or 0} to {seen}"
        raise NotFound(f"no turn {turn} in the stream", hint=f"the stream has turns {last}")
    is_ready = start.decides and point.seq == first.seq  # a fork that has not run
    return replace(point, decides=point.decides or is_ready, changes=net_changes(point.changes))


def _beginning(first: Event, start: AgentStart) -> ForkPoint:
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


def _continued(point: ForkPoint, current: AgentTurn, turn: int) -> ForkPoint:
    """Return the point at the end of a turn, or before its decision if it is the turn `turn`."""
    decision = current.decision if current.number == turn else None
    taken = [event for event in current.events if decision is None or event.seq < decision.seq]
    last = taken[-1] if taken else point
    changes = (
        change
        for result in current.results
        if decision is None or result.seq < decision.seq
        for change in decode_part(result, _Changes).changes
    )
    packet = current.after if decision is None else current.packet_before(decision)
    return replace(
        point,
        packet=packet or point.packet,
        changes=(*point.changes, *changes),
        seq=last.seq,
        hash=last.hash,
        turn=turn or 1,
        decides=decision is not None,
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
