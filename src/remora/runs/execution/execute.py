"""A run carried out: its base kept, its jobs worked on side by side, everything in streams."""

import msgspec

from remora.agents.job import Job
from remora.ids import spell_path
from remora.memory.events import RunEnd, RunStart
from remora.runs.execution.attempt import work_on
from remora.runs.execution.run import Ground, Run
from remora.runs.project import Project
from remora.runs.provenance import signed
from remora.runs.records.run_stream import opened_run
from remora.workspaces.commit_files import pin_commit
from remora.workspaces.copy.snapshot import BaseSnapshot


async def execute(run: Run, ground: Ground) -> None:
    """Work through the plan. What became of it stands in the streams.

    If it is cancelled, the streams of jobs under way have no end: they are interrupted, and
    nothing else is lost.
    """
    project = run.project
    project.trace.create()
    _keep_base(project, ground.base)
    with opened_run(project, run.run_id, run.clock) as stream:
        if ground.base.commit is not None:  # before run_start names it
            pin_commit(project.root, run.run_id, ground.base.commit)
        stream.append(signed(_start(run, ground.base), project.install_key))
        run.watcher.planned(run.run_id, run.plan)
        totals: dict[str, int] = {}

        async def work(job: Job) -> None:
            status = await work_on(run, stream, job, ground)
            totals[status] = totals.get(status, 0) + 1

        await run.engine.run(run.plan.jobs, work)
        stream.append(RunEnd(totals={"jobs": len(run.plan.jobs), **totals}))


def _keep_base(project: Project, base: BaseSnapshot) -> None:
    """What the commit alone cannot give back is in `objects/` before `run_start` names it."""
    for path, file in base.differing.items():
        content = base.read(path) if file is not None else None
        if content is not None:
            project.trace.objects.put(content)


def _start(run: Run, base: BaseSnapshot) -> RunStart:
    plan, redact, signer = run.plan, run.project.redact, run.project.signer
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
            "commit": base.commit,
            "files": {
                spell_path(path): None
                if file is None
                else {"sha256": file.sha256, "mode": file.mode}
                for path, file in base.differing.items()
            },
        },
        signing=None if signer is None else signer.signing,
    )
