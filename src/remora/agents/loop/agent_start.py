"""How an agent begins: its first packet, and the event that holds all that a replay needs."""

from remora.agents.decision.query_settings import model_record
from remora.agents.definition.agent import definition_record
from remora.agents.job import Job
from remora.agents.loop.dependencies import AgentDependencies
from remora.memory.context import ContextManager
from remora.memory.events import AgentStart


def first_context(job: Job, stage: AgentDependencies) -> ContextManager:
    """The packet before anything happened, with the summarizers that are to speak."""
    definition = stage.agent.definition
    context = ContextManager(
        {
            "agent_id": job.agent_id,
            "run_id": job.run_id,
            "goal": stage.redact.text(
                definition.goal.format(
                    node_name=job.node_name,
                    node_id=job.node_id,
                    node_type=job.node_type,
                    path=job.path,
                    operation=job.operation,
                )
            ),
            "operation": job.operation,
            "node_id": job.node_id,
            "node_type": job.node_type,
            "node_summary": stage.redact.text(job.node_summary),
            "constraints": {"max_turns": stage.max_turns, "safety": definition.verify},
        },
        packet_size_limit=stage.asking.limit,
        token_counter=stage.model.counter.count_text,
    )
    for tool, summarizer in stage.agent.summarizers.items():
        context.register_summarizer(tool, summarizer)
    return context


def first_event(job: Job, stage: AgentDependencies, context: ContextManager) -> AgentStart:
    """What the first line of the agent's stream says; nothing of it is a secret."""
    return AgentStart(
        packet=context.packet,
        definition=stage.redact.clean(definition_record(stage.agent)),
        tools=stage.redact.clean(stage.agent.schemas),
        model=stage.redact.clean(model_record(stage.model, stage.asking)),
        counter=stage.model.counter.name,
        limit=stage.asking.limit,
        renderer=stage.asking.renderer,
        redaction=stage.redact.version,
        attempt=job.attempt,
        rebased=dict(stage.rebased),
    )
