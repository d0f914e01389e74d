"""Creates an agent's first packet and its `agent_start` event."""

from collections.abc import Callable

from remora.agents.decision.query_settings import model_record
from remora.agents.definition.agent import definition_record
from remora.agents.job import Job
from remora.agents.loop.dependencies import AgentDependencies
from remora.memory.context import ContextManager, estimate_tokens
from remora.memory.events import AgentStart
from remora.models.protocol import Model


def first_context(job: Job, dependencies: AgentDependencies) -> ContextManager:
    """Return a context that contains the initial packet and the agent's summarizers."""
    definition = dependencies.agent.definition
    stated = {"safety": definition.constraints.safety, "checks": definition.verify}
    context = ContextManager(
        {
            "agent_id": job.agent_id,
            "run_id": job.run_id,
            "goal": dependencies.redact.text(
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
            "node_summary": dependencies.redact.text(job.node_summary),
            "constraints": {"max_turns": dependencies.max_turns, **stated},
        },
        packet_size_limit=dependencies.settings.excerpt_limit,
        token_counter=_excerpt_counter(dependencies.model),
    )
    for tool, summarizer in dependencies.agent.summarizers.items():
        context.register_summarizer(tool, summarizer)
    return context


def _excerpt_counter(model: Model) -> Callable[[str], int]:
    """Return the counter for excerpts.

    The embedded server starts with the first question and not to count an excerpt, so its tokens
    are estimated. The whole request is always counted.
    """
    embedded = model.describe().get("provider") == "embedded"
    return estimate_tokens if embedded else model.counter.count_text


def first_event(job: Job, dependencies: AgentDependencies, context: ContextManager) -> AgentStart:
    return AgentStart(
        packet=context.packet,
        definition=dependencies.redact.clean(definition_record(dependencies.agent)),
        tools=dependencies.redact.clean(dependencies.agent.schemas),
        model=dependencies.redact.clean(model_record(dependencies.model, dependencies.settings)),
        larger=dependencies.redact.clean(
            {} if dependencies.larger is None else model_record(*dependencies.larger)
        ),
        counter=dependencies.model.counter.name,
        limit=dependencies.settings.limit,
        renderer=dependencies.settings.renderer,
        redaction=dependencies.redact.version,
        attempt=job.attempt,
        rebased=dict(dependencies.rebased),
    )
