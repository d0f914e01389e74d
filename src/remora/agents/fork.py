"""The `agent_start` of an agent that goes on from another one: a fork, or a job begun again."""

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
"""The pinned knowledge key that holds what a person said of an earlier attempt."""


def fork_start(cut: ForkPoint, job: Job, *, feedback: str | None = None) -> AgentStart:
    """The first event of the agent that goes on from `cut`, whose id and attempt are the `job`'s.

    Definition, tools and model are the parent's; `with_agent` and `with_model` change them.
    """
    packet = replace(cut.packet, agent_id=job.agent_id, run_id=job.run_id)
    return replace(
        cut.start,
        packet=_with_feedback(packet, feedback),
        attempt=job.attempt,
        parent=_parent(cut, job),
        changes=cut.changes,
        first_turn=cut.turn,
        decides=cut.decides,
    )


def restart_start(
    cut: ForkPoint, job: Job, rebased: Mapping[str, Any], *, feedback: str | None = None
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
        packet=_with_feedback(packet, feedback),
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


def with_model(start: AgentStart, model: Model, asking: QuerySettings) -> AgentStart:
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


def _with_feedback(packet: DecisionPacket, feedback: str | None) -> DecisionPacket:
    if feedback is None:
        return packet
    return apply(packet, PacketDelta(update_knowledge=knowledge({FEEDBACK: feedback})))


def _parent(cut: ForkPoint, job: Job) -> dict[str, Any]:
    return {"run_id": job.run_id, "agent_id": cut.agent_id, "seq": cut.seq, "hash": cut.hash}
