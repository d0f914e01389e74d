"""Creates the `agent_start` events of forks and retries."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from remora.agents.decision.query_settings import QuerySettings, model_record
from remora.agents.definition.agent import Agent, definition_record
from remora.agents.fork_point import ForkPoint
from remora.agents.job import Job
from remora.memory.delta import PacketDelta, knowledge
from remora.memory.events import AgentStart
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.models.protocol import Model
from remora.trace.redact.redactor import Redactor

FEEDBACK = "feedback"
"""Pinned knowledge key of a person's feedback on an earlier attempt."""


def fork_start(point: ForkPoint, job: Job, *, feedback: str | None = None) -> AgentStart:
    """Return the first event of an agent forked at `point`.

    The agent's ID and attempt number come from `job`. The definition, tools and model are copied
    from the parent. Use `with_agent` and `with_model` to replace them.
    """
    packet = replace(point.packet, agent_id=job.agent_id, run_id=job.run_id)
    return replace(
        point.start,
        packet=_with_feedback(packet, feedback),
        attempt=job.attempt,
        parent=_parent(point, job),
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
    packet = replace(
        point.start.packet, agent_id=job.agent_id, run_id=job.run_id, node_summary=job.node_summary
    )
    return replace(
        point.start,
        packet=_with_feedback(packet, feedback),
        attempt=job.attempt,
        parent=_parent(point, job),
        rebased=dict(rebased),
        changes=(),
        first_turn=0,
        decides=False,
    )


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

    If the way to choose or to write changes, the turn's candidates are computed again, because
    different candidates may be valid.
    """
    before = start.model.get("strategy"), start.model.get("writes")
    same = before == (settings.strategy, settings.writes)
    return replace(
        start,
        model=model_record(model, settings),
        counter=model.counter.name,
        limit=settings.limit,
        renderer=settings.renderer,
        decides=start.decides and same,
    )


def _with_feedback(packet: DecisionPacket, feedback: str | None) -> DecisionPacket:
    if feedback is None:
        return packet
    return apply(packet, PacketDelta(update_knowledge=knowledge({FEEDBACK: feedback})))


def _parent(point: ForkPoint, job: Job) -> dict[str, Any]:
    return {"run_id": job.run_id, "agent_id": point.agent_id, "seq": point.seq, "hash": point.hash}
