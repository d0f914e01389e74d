"""JSON documents of plans and diffs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from remora.runs.project import ProjectRecords
from remora.runs.records.change_set_files import named_job_diff, shown_hunks, stacked_diffs
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, job_document, not_planned, select_jobs
from remora.statuses import DISMISSED, STATUSES

if TYPE_CHECKING:
    from remora.runs.planning.plan import Plan

PLANNED = "planned"


def plan_document(
    project: ProjectRecords, run_id: str, plan: "Plan", model: str | None
) -> dict[str, Any]:
    """Return the document printed by `analyze --dry-run --json`.

    It has the structure of a run's document, with jobs whose status is `planned`. `run_id` is null
    if there is nothing to run. `not_planned` lists what no job does.
    """
    jobs = [
        JobView(
            agent_id=job.agent_id,
            operation=job.operation,
            node_id=job.node_id,
            nodes=None if job.nodes is None else list(job.nodes),
            status=PLANNED,
        )
        for job in plan.jobs
    ]
    return {
        "run_id": run_id if plan.jobs else None,
        "root": str(project.root),
        "model": model,
        "rules": plan.rules or None,
        "judges": dict(plan.judges),
        "jobs": [job_document(job) for job in jobs],
        "seconds": plan.seconds,
        "totals": {
            "jobs": len(jobs),
            **dict.fromkeys(STATUSES, 0),
            "skipped": plan.skipped,
            "skipped_nodes": plan.skipped_nodes,
            "left": plan.left,
            "findings_left": dict(plan.findings_left),
            "unreadable": list(plan.unreadable),
        },
        "not_planned": not_planned(plan.left_nodes, plan.left_findings),
    }


def diff_document(
    project: ProjectRecords, view: RunView, nodes: Sequence[str] = (), *, stacked: bool = False
) -> dict[str, Any]:
    """Return `{"run_id", "diffs": [{agent_id, operation, node_id, status, review, reasons,
    hunks, diff}]}`. Each of `hunks` is `{number, path, line, group, label}`.

    Without `nodes`, the document contains every verified change set that was not rejected or
    reverted. With `nodes`, which are names or globs, it contains all change sets of the matching
    jobs. The hunks of each diff have their numbers and labels, unless it is `stacked` on another one of
    its file, so that both are a patch together. Raises NotFound if a name matches
    no node.
    """
    shown = [job for job in view.jobs if job.review.state and job.review.state not in DISMISSED]
    asked = select_jobs(view, nodes) if nodes else shown
    jobs = [job for job in asked if job.proposal.changes]
    diffs = stacked_diffs(project, jobs) if stacked else (named_job_diff(project, j) for j in jobs)
    return {
        "run_id": view.run_id,
        "diffs": [
            {
                "agent_id": job.agent_id,
                "operation": job.operation,
                "node_id": job.node_id,
                "status": job.status,
                "review": job.review.state,
                "reasons": list(job.proposal.reasons),
                "hunks": [
                    {
                        key: getattr(hunk, key)
                        for key in ("number", "path", "line", "group", "label")
                    }
                    for hunk in shown_hunks(project, job)
                ],
                "diff": text,
            }
            for job, text in zip(jobs, diffs, strict=True)
        ],
    }
