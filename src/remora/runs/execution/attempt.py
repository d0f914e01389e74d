"""One attempt of a job carried out: from its beginning, or on from where its stream leaves off."""

from dataclasses import replace
from pathlib import Path

import msgspec

from remora.agents.decision.query_settings import Asking, check_able
from remora.agents.definition.agent import Agent
from remora.agents.inputs.node_versions import UserFile
from remora.agents.job import AgentResult, Job
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.runner import AgentRunner
from remora.agents.summarizers import summarizers_in
from remora.agents.threads import aside
from remora.errors import HostError, RemoraError, StreamDamaged
from remora.memory.events import AgentStart
from remora.models.protocol import Model
from remora.runs.execution.agent_settings import asking_for, max_turns_for, options_for
from remora.runs.execution.run import Ground, Run
from remora.runs.records.agent_stream import agent_emitter, job_end, job_start, start_of
from remora.runs.records.lineage import ancestors
from remora.runs.records.run_stream import RunStream
from remora.tools.host.ruff.file_findings import lint_findings
from remora.trace.read.reader import read_events
from remora.trace.stream.emitters import EventEmitter, TeeEmitter
from remora.workspaces.copy.workspace import Workspace
from remora.workspaces.rooted_files import FILE_LIMIT, RootedFiles


async def work_on(
    run: Run, stream: RunStream, job: Job, ground: Ground, gone: RemoraError | None = None
) -> str:
    """Bring an attempt to its end and record that in the run's stream; its status.

    `gone` is why it cannot go on: it is then ended where it stands.
    """
    await aside(stream.append, job_start(job))
    run.watcher.began(job)
    with ground.workspaces.open() as workspace:
        result = await _run_agent(run, job, ground, workspace, gone)
    await aside(stream.append, job_end(job, result.status, result.head))
    run.watcher.ended(job, result)
    return result.status


async def _run_agent(
    run: Run, job: Job, ground: Ground, workspace: Workspace, gone: RemoraError | None
) -> AgentResult:
    with agent_emitter(run.project, job, run.clock) as stream:
        emitter = TeeEmitter(stream, *run.listeners)
        runner = AgentRunner(job, _stage(run, job, ground, workspace, (emitter, stream.path)))
        return await (runner.run() if gone is None else runner.give_up(gone))


def _stage(
    run: Run,
    job: Job,
    ground: Ground,
    workspace: Workspace,
    stream: tuple[EventEmitter, Path],
) -> AgentDependencies:
    """`stream` is what the agent writes with, and where, which may hold events already."""
    agent, (emitter, path) = run.agents[job.operation], stream
    mode = run.project.config.runner.memory.summarizer_mode
    start = start_of(run.project.trace, job.agent_id)
    model, asking, max_turns = _asked(run, agent, start)
    return AgentDependencies(
        agent=replace(agent, summarizers=summarizers_in(mode, agent.summarizers, agent.tools)),
        model=model,
        asking=asking,
        emitter=emitter,
        workspace=workspace,
        objects=run.project.trace.objects,
        blobs=run.project.trace.blobs,
        facts=run.facts,
        user_file=_user_file(run.project.root),
        python=run.python,
        redact=run.project.redact,
        findings_before=ground.findings,
        findings_after=lambda path: lint_findings(workspace.tree, [path]),
        checks=run.project.operations.checks,
        clock=run.clock,
        on_event=lambda event: run.watcher.event(job, event),
        max_turns=max_turns,
        options=options_for(run.project.config, job.operation, run.request),
        rebased=ground.rebased,
        recorded=read_events(path),  # a long stream is never held whole
        ancestors=ancestors(run.project.trace, start) if start is not None else (),
    )


def _user_file(root: Path) -> UserFile:
    files = RootedFiles(root)

    def read(path: str) -> bytes | None:
        try:
            return files.read_bytes(path, limit=FILE_LIMIT)
        except HostError:
            return None

    return read


def _asked(run: Run, agent: Agent, start: AgentStart | None) -> tuple[Model, Asking, int]:
    """Who is asked, how, and for how many turns: an agent that has begun goes on as it was.

    Raises ModelError if that model cannot be asked so any more.
    """
    if start is None:
        config, model = run.project.config, run.model(agent)
        turns = max_turns_for(config, agent, run.request)
        return model, asking_for(config, agent, model, run.request), turns
    model, asking = run.model(agent, start.model.get("name")), asked_as(start)
    check_able(model, asking.strategy)
    return model, asking, start.packet.constraints.max_turns


def asked_as(start: AgentStart) -> Asking:
    """How an agent's model is asked, from its `agent_start`. Raises StreamDamaged."""
    try:
        return msgspec.convert(start.model, Asking)
    except msgspec.ValidationError as error:
        raise StreamDamaged(
            f"{start.packet.agent_id}: its agent_start does not say how it is asked: {error}",
            hint="remora trace verify",
        ) from error
