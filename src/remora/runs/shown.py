"""What commands say of runs and plans: names that are short for a run, documents of plans."""

from collections.abc import Sequence
from typing import Any

from remora.errors import NotFound, RemoraError, UsageError
from remora.runs.plan import Plan
from remora.runs.project import Project
from remora.runs.results import STATUSES, JobView, RunView, job_document, jobs_named
from remora.runs.review import job_diff
from remora.trace import TraceFolder, read_events
from remora.trace.folder import stream_id

LAST = "last"
PLANNED = "planned"


def run_named(folder: TraceFolder, name: str) -> str:
    """The run that `name` means: its id, the beginning of one, or `last` for the newest.

    Raises NotFound for an unknown one, UsageError for a beginning that several have.
    """
    known = [stream_id(path) for path in folder.run_streams()]
    if name == LAST:
        if not known:
            raise NotFound(f"no run in {folder.path}", hint="`remora analyze` starts one")
        return max(known, key=lambda run_id: (_began(folder, run_id), run_id))
    return _meant(known, name, "run") or _missing(folder, name, run=True)


def stream_named(folder: TraceFolder, name: str) -> str:
    """The agent or run whose stream `name` means: its id or the beginning of one, or `last` for
    the newest run's. Raises as `run_named` does."""
    if name == LAST:
        return run_named(folder, name)
    agents = [stream_id(path) for path in folder.agent_streams()]
    runs = [stream_id(path) for path in folder.run_streams()]
    return (
        _meant(agents, name, "agent")
        or _meant(runs, name, "run")
        or _missing(folder, name, run=False)
    )


def plan_document(project: Project, run_id: str, plan: Plan, model: str | None) -> dict[str, Any]:
    """The document of `analyze --dry-run --json`: that of a run, each job `planned`."""
    jobs = [
        JobView(agent_id=job.agent_id, operation=job.operation, node_id=job.node_id, status=PLANNED)
        for job in plan.jobs
    ]
    return {
        "run_id": run_id,
        "root": str(project.root),
        "model": model,
        "jobs": [job_document(job) for job in jobs],
        "totals": {
            "jobs": len(jobs),
            **dict.fromkeys(STATUSES, 0),
            "skipped": plan.skipped,
            "unreadable": list(plan.unreadable),
        },
    }


def diff_document(project: Project, view: RunView, node: str | None = None) -> dict[str, Any]:
    """`{"run_id", "diffs": [{agent_id, operation, node_id, status, review, diff}]}`.

    Without a node: every verified change set. With one (a name or glob): what its jobs changed,
    verified or not. Raises NotFound for a node that the run does not have.
    """
    jobs = [job for job in view.jobs if job.review] if node is None else jobs_named(view, node)
    return {
        "run_id": view.run_id,
        "diffs": [
            {
                "agent_id": job.agent_id,
                "operation": job.operation,
                "node_id": job.node_id,
                "status": job.status,
                "review": job.review,
                "diff": job_diff(project, job),
            }
            for job in jobs
            if job.change_set
        ],
    }


def _meant(known: Sequence[str], name: str, kind: str) -> str | None:
    if name in known:
        return name
    begins = [found for found in known if name and found.startswith(name)]
    if len(begins) > 1:
        several = ", ".join(begins[:5]) + (", …" if len(begins) > 5 else "")
        raise UsageError(f"{name!r} is the beginning of more than one {kind}", hint=several)
    return begins[0] if begins else None


def _missing(folder: TraceFolder, name: str, *, run: bool) -> str:
    """Raises NotFound with the nearest names."""
    path = folder.existing_run(name) if run else folder.existing_agent(name)
    return stream_id(path)


def _began(folder: TraceFolder, run_id: str) -> str:
    try:
        first = next(read_events(folder.run_stream(run_id)), None)
    except RemoraError:
        return ""
    return first.timestamp if first is not None else ""
