"""Numbering of further attempts of a job, and creation of their streams."""

from collections.abc import Callable

from remora.agents.job import Job
from remora.memory.events import AgentStart
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.agent_stream import agent_emitter
from remora.runs.records.attempts import Attempts, as_attempt
from remora.trace.stream.line_builder import Clock


class AttemptNumbers:
    """Assigns a unique number to each new attempt of a job."""

    def __init__(self, project: ProjectRecords, attempts: Attempts) -> None:
        self._trace = project.trace
        self._highest: dict[tuple[str, str], int] = {}
        for attempt in attempts.begun:
            key = attempt.job.operation, attempt.job.node_id
            self._highest[key] = max(self._highest.get(key, 0), attempt.job.attempt)

    def next_of(self, job: Job) -> Job:
        """Return the job with its next unused attempt number.

        Numbers of streams that the run does not record are skipped. A killed command may have left
        such streams.
        """
        key = job.operation, job.node_id
        while True:
            self._highest[key] = self._highest.get(key, 0) + 1
            found = as_attempt(job, self._highest[key])
            if self._trace.find_agent(found.agent_id) is None:
                return found


UpdateStart = Callable[[Job, AgentStart], AgentStart]
"""Updates an attempt's start with the current agent or another model."""


def start_stream(project: Project, job: Job, start: AgentStart, clock: Clock) -> None:
    """Write and sync the first line of an attempt's stream.

    Call this before recording the attempt in the run's stream.
    """
    with agent_emitter(project, job, clock) as emitter:
        emitter.emit(start, turn=0)
        emitter.sync()
