"""Execution of a run, from storing its base to recording the results."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.agents.job import Job
from remora.ids import escape_path
from remora.memory.events import Event, RunEnd, RunStart
from remora.runs.execution.attempt import run_attempt
from remora.runs.execution.engine import StartedRun
from remora.runs.execution.remote_run import RemoteRun
from remora.runs.execution.run import BaseFiles, Run
from remora.runs.planning.plan import Plan
from remora.runs.project import Project, ProjectRecords, root_name
from remora.runs.provenance import sign_run_start
from remora.runs.records.run_stream import RunStream, open_run
from remora.statuses import SUBMITTED
from remora.threads import run_in_thread
from remora.trace.redact.redactor import Redactor
from remora.workspaces.commit_files import pin_commit
from remora.workspaces.copy.snapshot import BaseSnapshot


async def execute(run: Run, base_files: BaseFiles) -> None:
    """Run all jobs of the plan concurrently and record their results in streams.

    If the run is cancelled, jobs that are still running count as interrupted, because their streams
    have no end event.
    """
    prepared, project = run.prepared, run.prepared.project
    keep_base(project, base_files.base)
    with open_run(project, prepared.run_id, run.clock) as stream:
        start = record_start(stream, project, prepared.plan, run.settings, base_files.base)
        run.observer.planned(prepared.run_id, prepared.plan)
        totals: dict[str, int] = {}

        async def work(job: Job) -> None:
            status = await run_attempt(run, stream, job, base_files)
            totals[status] = totals.get(status, 0) + 1

        if prepared.workers is None:
            await run.work_off(prepared.plan.jobs, work)
        else:
            remote = RemoteRun(run, stream, prepared.workers)
            started = StartedRun(prepared.run_id, start.hash, base_files.base.commit)
            await remote.run_jobs(prepared.plan.jobs, started)
            totals = remote.totals
        if run.judge is not None and totals.get(SUBMITTED):
            await run_in_thread(run.judge, run, stream, base_files)
        stream.append(RunEnd(totals={"jobs": len(prepared.plan.jobs), **totals}))


def record_start(
    stream: RunStream,
    project: Project,
    plan: Plan,
    settings: Mapping[str, Any],
    base: BaseSnapshot,
) -> Event:
    """Record the plan and the base of a run, so that its jobs can be run. Return the event.

    `settings` is the configuration to record. Call `keep_base` before.
    """
    if base.commit is not None:  # before run_start refers to it
        pin_commit(project.root, root_name(project.root), stream.run_id, base.commit)
    files = {
        escape_path(path): file and {"sha256": file.sha256, "mode": file.mode}
        for path, file in base.differing.items()
    }
    start = RunStart(
        plan=_recorded_plan(plan, project.redact),
        config=project.redact.clean(dict(settings)),
        base={"commit": base.commit, "files": files},
    )
    return stream.append(sign_run_start(start, project.install_key))


def keep_base(project: ProjectRecords, base: BaseSnapshot) -> None:
    """Store file contents that are not in the commit. Call this before writing `run_start`."""
    for path, file in base.differing.items():
        if file is not None:
            project.trace.objects.put_pieces(file.sha256, base.pieces(path))


def _recorded_plan(plan: Plan, redact: Redactor) -> dict[str, Any]:
    jobs = [
        msgspec.structs.replace(job, node_summary=redact.text(job.node_summary))
        for job in plan.jobs
    ]
    return {
        "jobs": [msgspec.to_builtins(job) for job in jobs],
        "operations": list(plan.operations),
        "nodes": plan.nodes,
        "skipped": plan.skipped,
        "skipped_nodes": plan.skipped_nodes,
        "findings": plan.findings,
        "left_findings": redact.clean(msgspec.to_builtins(plan.left_findings)),
        "left_nodes": msgspec.to_builtins(plan.left_nodes),
        "rules": plan.rules,
        "unreadable": redact.clean(list(plan.unreadable)),
    }
