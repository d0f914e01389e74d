"""From an agent on record to another one that goes on from it: a fork, a retry."""

from dataclasses import dataclass, replace
from pathlib import Path

from remora.agents.fork import with_agent, with_model
from remora.agents.job import Job
from remora.bootstrap.invocation import Caller
from remora.bootstrap.prepare_run import agents_for
from remora.bootstrap.recorded_settings import as_begun, wish_of
from remora.bootstrap.resume_run import Resumable, connect_models, resumable
from remora.bootstrap.test_interpreter import python_for, require_tests
from remora.memory.events import AgentStart
from remora.models.protocol import Model
from remora.runs.continuation import fork as forks
from remora.runs.continuation import retry as retries
from remora.runs.continuation.fork import Forked
from remora.runs.execution.agent_settings import asking_for
from remora.runs.project import Project
from remora.runs.provenance import check_ours
from remora.runs.records.agent_stream import start_of
from remora.runs.records.attempts import attempts_of


@dataclass(frozen=True, kw_only=True)
class ForkWish:
    """What `trace fork` is asked for; the files as they were then go into `files`."""

    agent_id: str
    turn: int
    files: Path | None = None
    trusted: bool = False


def fork_agent(
    caller: Caller, project: Project, wish: ForkWish, model: Model | None = None
) -> Forked:
    """Begin an agent that goes on from a turn of another one, with its model or with `model`.

    Raises as `runs.fork.fork` does, and UsageError for a run that is not ours.
    """
    run_id, operation = forks.run_of(project, wish.agent_id)
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=wish.trusted)
    (agent,) = agents_for(project, [operation])
    start = attempts_of(project.trace, run_id).start

    def as_now(_: Job, first: AgentStart) -> AgentStart:
        found = with_agent(first, agent, project.redact)
        if model is None:
            return found
        config = as_begun(project.config, start)
        return with_model(found, model, asking_for(config, agent, model, wish_of(start, caller)))

    return forks.fork(
        project, wish.agent_id, wish.turn, as_now, files=wish.files, trusted=wish.trusted
    )


def retry_models(
    caller: Caller, project: Project, run_id: str, node: str, *, trusted: bool = False
) -> dict[str, Model]:
    """By name, the models that the jobs on a node asked, before anything is recorded.

    Raises as `retry_jobs` does, and ModelError.
    """
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=trusted)
    names = []
    for job in retries.to_retry(project, run_id, node):
        start = start_of(project.trace, job.agent_id)
        names.append(str(start.model.get("name")) if start is not None else "")
    begun = replace(
        project, config=as_begun(project.config, attempts_of(project.trace, run_id).start)
    )
    return connect_models(caller, begun, names)


def retry_jobs(
    caller: Caller,
    project: Project,
    run_id: str,
    node: str,
    *,
    feedback: str | None = None,
    trusted: bool = False,
) -> Resumable:
    """Begin the next attempts of the jobs on a node, with the verdict `retried` on the last ones;
    `carry_on` brings them to their ends. Raises as `runs.retry` does, and UsageError for a run
    that is not ours."""
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=trusted)
    jobs = retries.to_retry(project, run_id, node)
    operations = sorted({job.operation for job in jobs})
    agents = {a.definition.operation: a for a in agents_for(project, operations)}
    require_tests(python_for(caller, project, agents.values()))

    def as_now(job: Job, start: AgentStart) -> AgentStart:
        return with_agent(start, agents[job.operation], project.redact)

    begun = retries.retry(project, run_id, jobs, as_now, feedback=feedback)
    only = frozenset(job.agent_id for job in begun)
    return resumable(caller, project, run_id, trusted=trusted, only=only)
