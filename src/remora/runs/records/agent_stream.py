"""An attempt's own stream: opened for writing, and how it begins and ends."""

from contextlib import suppress
from typing import TYPE_CHECKING

from remora.agents.job import Job
from remora.errors import NotFound
from remora.memory.events import AgentEnd, AgentStart, Head, JobEnd, JobStart
from remora.runs.project import Project
from remora.trace.read.reader import last_event, read_events, typed_payload
from remora.trace.trace_folder import TraceFolder

if TYPE_CHECKING:
    from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
    from remora.trace.stream.line_builder import Clock


def agent_emitter(project: Project, job: Job, clock: "Clock | None" = None) -> "JsonlEventEmitter":
    """Open the attempt's stream for writing. Raises as `JsonlEventEmitter.open` does."""
    from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
    from remora.trace.stream.line_builder import Identity, utc_now

    return JsonlEventEmitter.open(
        project.trace.agent_stream(job.agent_id),
        Identity(
            run_id=job.run_id,
            agent_id=job.agent_id,
            operation=job.operation,
            node_id=job.node_id,
        ),
        blobs=project.trace.blobs,
        objects=project.trace.objects,
        durability=project.config.runner.memory.durability,
        clock=clock or utc_now,
    )


def is_begun(folder: TraceFolder, agent_id: str) -> bool:
    """Whether an agent has a stream, sealed or not, if only an empty one."""
    with suppress(NotFound):
        folder.existing_agent(agent_id)
        return True
    return False


def start_of(folder: TraceFolder, agent_id: str) -> AgentStart | None:
    """What an agent's stream begins with; None where it never began.

    Raises StreamDamaged, or StreamError for rules of folding that this version does not know.
    """
    from remora.trace.read.state_at import start_packet

    with suppress(NotFound):
        for event in read_events(folder.existing_agent(agent_id)):
            if start_packet(event) is not None:
                found = typed_payload(event)
                return found if isinstance(found, AgentStart) else None
    return None


def end_of(folder: TraceFolder, agent_id: str) -> AgentEnd | None:
    """How an agent's stream ends; None where it has no end. Raises StreamDamaged."""
    with suppress(NotFound):
        last = last_event(folder.existing_agent(agent_id))
        end = typed_payload(last) if last is not None and last.type == AgentEnd.type else None
        return end if isinstance(end, AgentEnd) else None
    return None


def job_start(job: Job) -> JobStart:
    """Says in the run's stream that an attempt begins, or goes on."""
    return JobStart(
        agent_id=job.agent_id,
        operation=job.operation,
        node_id=job.node_id,
        attempt=job.attempt,
    )


def job_end(job: Job, status: str, head: Head) -> JobEnd:
    """Says how an attempt ended, and anchors its stream."""
    return JobEnd(
        agent_id=job.agent_id,
        operation=job.operation,
        node_id=job.node_id,
        attempt=job.attempt,
        status=status,
        head=head,
    )
