"""A run carried out: its base kept, its jobs worked on side by side, everything in streams."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import msgspec

from remora.agents import Agent, AgentResult, AgentRunner, Job, Stage
from remora.agents.decide import Asking
from remora.agents.pull import NodeFacts
from remora.agents.summarize import summarizers_in
from remora.errors import RemoraError
from remora.ids import spell_path
from remora.memory.events import Event, JobEnd, JobStart, RunEnd, RunStart
from remora.models import Model
from remora.runs.plan import Plan
from remora.runs.project import Project
from remora.runs.stream import RunStream, opened_run
from remora.runs.trust import signed
from remora.tools.lint import lint_findings
from remora.trace import EventEmitter, Identity, JsonlEventEmitter, StreamWriter, TeeEmitter
from remora.workspaces import Base, SlotDriver, Workspace, pin_commit

Work = Callable[[Job], Awaitable[None]]


class Engine(Protocol):
    """Spreads jobs over workers. Every result is a stream, so an engine returns nothing."""

    async def run(self, jobs: Sequence[Job], work: Work) -> None:
        """Call `work` once for each job; on cancellation, no further job is begun."""


class LocalEngine:
    """Jobs in this process, at most `concurrency` at a time, in order."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency

    async def run(self, jobs: Sequence[Job], work: Work) -> None:
        """Workers take the next job until there is none."""
        waiting = iter(jobs)

        async def worker() -> None:
            for job in waiting:
                await work(job)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, min(self._concurrency, len(jobs)))):
                    group.create_task(worker())
        except* RemoraError as failed:
            raise failed.exceptions[0] from None  # one broken disk says it all


class Watcher(Protocol):
    """Is told how a run goes, as it goes."""

    def planned(self, run_id: str, plan: Plan) -> None:
        """The run begins."""

    def began(self, job: Job) -> None:
        """A job begins."""

    def event(self, job: Job, event: Event) -> None:
        """An event of a job is in its stream."""

    def ended(self, job: Job, result: AgentResult) -> None:
        """A job ended."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """All that a run needs, wired by the composition root."""

    run_id: str
    project: Project
    plan: Plan
    base: Base
    slots: SlotDriver
    agents: Mapping[str, Agent]
    model: Callable[[Agent], Model]
    engine: Engine
    facts: NodeFacts
    clock: Callable[[], datetime]
    asking: Callable[[Agent], Asking]
    max_turns: Callable[[Agent], int]
    options: Mapping[str, Any]
    settings: Mapping[str, Any]
    watcher: Watcher
    listeners: tuple[Callable[[Event], object], ...] = ()


async def execute(run: Run) -> None:
    """Work through the plan. What became of it stands in the streams.

    If it is cancelled, the streams of jobs under way have no end: they are interrupted, and
    nothing else is lost.
    """
    project = run.project
    project.trace.create()
    _keep_base(run)
    with opened_run(project, run.run_id, run.clock) as stream:
        if run.base.commit is not None:  # before run_start names it
            pin_commit(project.root, run.run_id, run.base.commit)
        stream.append(signed(_start(run), project.install_key))
        run.watcher.planned(run.run_id, run.plan)
        totals: dict[str, int] = {}

        async def work(job: Job) -> None:
            status = await _work(run, stream, job)
            totals[status] = totals.get(status, 0) + 1

        await run.engine.run(run.plan.jobs, work)
        stream.append(RunEnd(totals={"jobs": len(run.plan.jobs), **totals}))


async def _work(run: Run, stream: RunStream, job: Job) -> str:
    stream.append(
        JobStart(
            agent_id=job.agent_id,
            operation=job.operation,
            node_id=job.node_id,
            attempt=job.attempt,
        )
    )
    run.watcher.began(job)
    with run.slots.open() as workspace:
        result = await _run_agent(run, job, workspace)
    stream.append(
        JobEnd(
            agent_id=job.agent_id,
            operation=job.operation,
            node_id=job.node_id,
            attempt=job.attempt,
            status=result.status,
            head=result.head,
        )
    )
    run.watcher.ended(job, result)
    return result.status


async def _run_agent(run: Run, job: Job, workspace: Workspace) -> AgentResult:
    project = run.project
    agent = run.agents[job.operation]
    writer = StreamWriter.open(
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
        clock=run.clock,
    )
    emitter = TeeEmitter(JsonlEventEmitter(writer), *run.listeners)
    try:
        return await AgentRunner(job, _stage(run, agent, job, workspace, emitter)).run()
    finally:
        writer.close()


def _stage(run: Run, agent: Agent, job: Job, workspace: Workspace, emitter: EventEmitter) -> Stage:
    mode = run.project.config.runner.memory.summarizer_mode
    return Stage(
        agent=replace(agent, summarizers=summarizers_in(mode, agent.summarizers, agent.tools)),
        model=run.model(agent),
        asking=run.asking(agent),
        emitter=emitter,
        workspace=workspace,
        objects=run.project.trace.objects,
        blobs=run.project.trace.blobs,
        facts=run.facts,
        redact=run.project.redact,
        findings_before=lambda path: lint_findings(run.base.folder, [path]),
        findings_after=lambda path: lint_findings(workspace.tree, [path]),
        clock=run.clock,
        on_event=lambda event: run.watcher.event(job, event),
        max_turns=run.max_turns(agent),
        options=run.options,
    )


def _keep_base(run: Run) -> None:
    """What the commit alone cannot give back is in `objects/` before `run_start` names it."""
    for path, file in run.base.differing.items():
        content = run.base.read(path) if file is not None else None
        if content is not None:
            run.project.trace.objects.put(content)


def _start(run: Run) -> RunStart:
    plan, redact = run.plan, run.project.redact
    jobs = [
        msgspec.structs.replace(job, node_summary=redact.text(job.node_summary))
        for job in plan.jobs
    ]
    return RunStart(
        plan={
            "jobs": [msgspec.to_builtins(job) for job in jobs],
            "operations": list(plan.operations),
            "nodes": plan.nodes,
            "skipped": plan.skipped,
            "findings": plan.findings,
            "unreadable": redact.clean(list(plan.unreadable)),
        },
        config=redact.clean(dict(run.settings)),
        base={
            "commit": run.base.commit,
            "files": {
                spell_path(path): None
                if file is None
                else {"sha256": file.sha256, "mode": file.mode}
                for path, file in run.base.differing.items()
            },
        },
    )
