"""Execution of one attempt of a job, either from the start or from its recorded events."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from remora.agents.decision.query_settings import QuerySettings, Rung, check_model_can
from remora.agents.definition.agent import Agent
from remora.agents.inputs.node_versions import UserFile
from remora.agents.job import Job
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.runner import AgentRunner
from remora.agents.named_summarizers import summarizers_in
from remora.errors import HostError, ModelError, RemoraError, StreamDamaged, StreamError
from remora.memory.events import AgentStart, Event, Payload
from remora.models.protocol import Model
from remora.runs.execution.agent_settings import larger_settings, max_turns_for, query_settings_for
from remora.runs.execution.run import LARGER, BaseFiles, Run, options_for
from remora.runs.records.agent_stream import agent_emitter, ancestors, job_end, job_start
from remora.threads import run_in_thread
from remora.tools.host.ruff.ruff import Ruff
from remora.trace.read.reader import read_events
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.workspaces.copy.workspace import Workspace
from remora.workspaces.rooted_files import RootedFiles

MAX_DEATHS = 3
"""Number of workers that may die with a job before it ends with an error."""


class RunLog(Protocol):
    """Records the start and the end of attempts."""

    def append(self, payload: Payload) -> object:
        """Append an event to the run's stream."""


async def run_attempt(
    run: Run,
    stream: RunLog,
    job: Job,
    base_files: BaseFiles,
    start: AgentStart | None = None,
    failure: RemoraError | None = None,
) -> str:
    """Run an attempt to its end, record the end in the run's stream, and return the status.

    `start` is the start event in the attempt's stream, or None if the attempt has not begun. If
    `failure` is given, the attempt cannot continue and is ended in its current state.
    """
    await run_in_thread(stream.append, job_start(job))
    run.observer.began(job)
    with (
        base_files.workspaces.open() as workspace,
        agent_emitter(run.prepared.project, job, run.clock) as emitter,
    ):
        dependencies = _dependencies(run, job, start, base_files, workspace, emitter)
        runner = AgentRunner(job, dependencies)
        if emitter.deaths >= MAX_DEATHS:
            failure = failure or StreamError(f"its worker died {emitter.deaths} times")
        result = await (runner.run() if failure is None else runner.give_up(failure))
    run.lost_jobs.add(result)
    await run_in_thread(stream.append, job_end(job, result.status, result.head))
    run.observer.ended(job, result.shown())
    return result.status


def _dependencies(
    run: Run,
    job: Job,
    start: AgentStart | None,
    base_files: BaseFiles,
    workspace: Workspace,
    emitter: JsonlEventEmitter,
) -> AgentDependencies:
    """Return the agent's dependencies.

    `emitter` writes the agent's stream, which may already contain events.
    """
    prepared, project = run.prepared, run.prepared.project
    agent = prepared.agents[job.operation]
    mode = project.config.runner.memory.summarizer_mode
    model, settings, max_turns = _query_settings(run, agent, start)
    return AgentDependencies(
        agent=replace(agent, summarizers=summarizers_in(mode, agent.summarizers, agent.tools)),
        model=model,
        settings=settings,
        emitter=emitter,
        workspace=workspace,
        objects=project.trace.objects,
        blobs=project.trace.blobs,
        facts=run.facts,
        user_file=_user_file(project.root),
        python=prepared.python,
        answers=run.prepared.project.cache / "answers" / job.operation,
        redact=project.redact,
        findings_before=base_files.findings,
        ruff=partial(Ruff, base=base_files.ruff, is_like_base=workspace.has_settings_of_base),
        checks=project.operations.checks,
        clock=run.clock,
        on_event=lambda event: run.observer.event(job, event),
        max_turns=max_turns,
        options=options_for(project.config, job.operation, prepared.request),
        rebased=base_files.rebased,
        lost_jobs=run.lost_jobs,
        recorded=_recorded(run, job) if emitter.head.count else (),
        ancestors=ancestors(project.trace, start) if start is not None else (),
        larger=_larger(run, agent, start),
    )


def _recorded(run: Run, job: Job) -> Iterator[Event]:
    """Yield the events of an attempt that has begun. They are never all in memory."""
    return read_events(run.prepared.project.trace.existing_agent(job.agent_id))


def _larger(run: Run, agent: Agent, start: AgentStart | None) -> Rung | None:
    """Return the larger model, if the agent may escalate.

    An agent that has already begun keeps its larger model and its recorded settings. Raises
    ModelError if this model is not configured any more.
    """
    model = run.models.get(LARGER)
    if start is None:
        if model is None:
            return None
        prepared = run.prepared
        config, request = prepared.project.config, prepared.request
        return Rung(model, larger_settings(config, agent, model, request))
    if not start.larger:
        return None
    name = start.larger.get("name")
    if model is None or model.name != name:
        found = "no larger model" if model is None else f"the larger model {model.name}"
        raise ModelError(
            f"{start.packet.agent_id} used the larger model {name}, but {found} is configured",
            hint="set escalation.enabled, escalation.base_url and escalation.name as before",
        )
    return Rung(model, recorded_query_settings(start, start.larger))


def _user_file(root: Path) -> UserFile:
    files = RootedFiles(root)

    def read(path: str) -> bytes | None:
        try:
            return files.read_bytes(path)
        except HostError:
            return None

    return read


def _query_settings(
    run: Run, agent: Agent, start: AgentStart | None
) -> tuple[Model, QuerySettings, int]:
    """Return the model, the query settings and the maximum number of turns.

    An agent that has already begun keeps its recorded settings. Raises ModelError if the model no
    longer supports them.
    """
    if start is None:
        prepared, model = run.prepared, run.model(agent)
        config = prepared.project.config
        turns = max_turns_for(config, agent, prepared.request)
        return model, query_settings_for(config, agent, model, prepared.request), turns
    model = run.model(agent, start.model.get("name"))
    settings = recorded_query_settings(start, start.model)
    check_model_can(model, settings.strategy)
    return model, settings, start.packet.constraints.max_turns


def recorded_query_settings(start: AgentStart, record: dict[str, Any]) -> QuerySettings:
    """Return the query settings in `record`, which describes a model in `agent_start`.

    Raises StreamDamaged if they are invalid.
    """
    try:
        return msgspec.convert(record, QuerySettings)
    except msgspec.ValidationError as error:
        raise StreamDamaged(
            f"{start.packet.agent_id}: its agent_start has invalid query settings: {error}",
            hint="run `remora trace verify`",
        ) from error
