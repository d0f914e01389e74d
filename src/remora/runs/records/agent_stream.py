"""The stream of an attempt, including its writer, its start and end events, and its ancestors."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from remora.agents.job import Job
from remora.errors import NotFound, RemoraError
from remora.memory.events import AgentEnd, AgentStart, Event, Head, JobEnd, JobStart
from remora.runs.project import Project
from remora.trace.read.reader import last_event, payload_if, payload_of, read_events
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.fork_origin_check import Parent

if TYPE_CHECKING:
    from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
    from remora.trace.stream.line_builder import Clock


def agent_emitter(project: Project, job: Job, clock: "Clock | None" = None) -> "JsonlEventEmitter":
    """Claim the attempt's stream for writing. Raises whatever `JsonlEventEmitter.claim` raises."""
    from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
    from remora.trace.stream.line_builder import Identity, utc_now

    return JsonlEventEmitter.claim(
        project.open_store(),
        f"traces/{job.agent_id}",
        Identity(
            run_id=job.run_id, agent_id=job.agent_id, operation=job.operation, node_id=job.node_id
        ),
        EmitterOptions(
            blobs=project.trace.blobs,
            objects=project.trace.objects,
            durability=project.config.runner.memory.durability,
            clock=clock or utc_now,
        ),
    )


def start_stream(
    project: Project, job: Job, start: AgentStart, clock: "Clock | None" = None
) -> None:
    """Write and sync the first line of an attempt's stream.

    Call this before recording the attempt in the run's stream.
    """
    with agent_emitter(project, job, clock) as emitter:
        emitter.emit(start, turn=0)
        emitter.sync()


def start_of(folder: TraceFolder, agent_id: str) -> AgentStart | None:
    """Return an agent's start event, or None if the agent has not begun.

    Raises StreamDamaged if the stream is damaged, and StreamError if the stream needs folding rules
    that this version does not have.
    """
    with suppress(NotFound):
        events = read_events(folder.existing_agent(agent_id))
        return next(filter(None, map(start_in, events)), None)
    return None


def start_in(event: Event) -> AgentStart | None:
    """Return the payload of an `agent_start` event. Raises whatever `start_of` raises."""
    from remora.trace.read.agent_turns import start_packet

    return None if start_packet(event) is None else payload_of(event, AgentStart)


def start_and_end_of(
    folder: TraceFolder, agent_id: str
) -> tuple[AgentStart | None, AgentEnd | None]:
    """Return an agent's start and end events, or None for each event that is missing.

    The stream is read only once. Raises whatever `start_of` raises.
    """
    start, last = None, None
    path = folder.find_agent(agent_id)
    for last in () if path is None else read_events(path):
        start = start or start_in(last)
    return start, None if last is None else payload_if(last, AgentEnd)


def end_of(folder: TraceFolder, agent_id: str) -> AgentEnd | None:
    """Return an agent's end event, or None if the agent has not ended.

    Raises StreamDamaged if the stream is damaged.
    """
    path = folder.find_agent(agent_id)
    last = None if path is None else last_event(path)
    return None if last is None else payload_if(last, AgentEnd)


def job_start(job: Job) -> JobStart:
    """Return the event that records the start or continuation of an attempt."""
    return JobStart(
        agent_id=job.agent_id, operation=job.operation, node_id=job.node_id, attempt=job.attempt
    )


def job_end(job: Job, status: str, head: Head) -> JobEnd:
    """Return the event that records the end of an attempt and the head of its stream."""
    return JobEnd(
        agent_id=job.agent_id,
        operation=job.operation,
        node_id=job.node_id,
        attempt=job.attempt,
        status=status,
        head=head,
    )


def ancestors(
    folder: TraceFolder, start: AgentStart, seen: frozenset[str] = frozenset()
) -> Iterator[Event]:
    """Yield the events that precede a fork, oldest first. Unreadable events are skipped.

    `recall` and the stop rules need these events. The packet and the files are in the fork's own
    stream. Agents in `seen` are skipped to prevent an endless loop if there is a cycle.
    """
    parent = parent_of(start)
    if parent is None or parent.agent_id in seen:
        return
    with suppress(RemoraError):  # it may have expired
        for event in read_events(folder.existing_agent(parent.agent_id)):
            with suppress(RemoraError):
                if (before := start_in(event)) is not None:
                    yield from ancestors(folder, before, seen | {parent.agent_id})
            if event.seq > parent.seq:
                return
            yield event


def parent_of(start: AgentStart) -> Parent | None:
    try:
        return None if start.parent is None else msgspec.convert(start.parent, Parent)
    except msgspec.ValidationError:
        return None
