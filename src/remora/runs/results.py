"""What became of a run, read from its streams: the documents that every command prints."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remora.agents.outcome import DECIDERS, raw_size, sent_tokens
from remora.code import match_nodes, nearest
from remora.errors import NotFound
from remora.ids import NodeKey
from remora.memory.events import (
    AgentEnd,
    AgentStart,
    Change,
    Event,
    Head,
    JobEnd,
    JobStart,
    ModelRequest,
    RunStart,
    ToolCalled,
    ToolResulted,
)
from remora.runs.counting import Counting
from remora.runs.findings import known_findings
from remora.runs.lineage import ancestors
from remora.runs.listing import listed_runs
from remora.runs.project import Project
from remora.trace import read_events, stream_status
from remora.trace.reader import INTERRUPTED, RUNNING, typed

STATUSES = ("submitted", "no_change", "failed", "error", "interrupted")


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a job. `status` is null in a plan; `review` is `pending` where a verified
    change set waits, else the last verdict, else empty.

    `before` and `after` count lint findings by code as the agent's tools first and last knew
    them (null: no tool said so); `conflicts` are the last verdict's, `{node_id, path, detail}`.
    """

    agent_id: str
    operation: str
    node_id: str
    attempt: int = 1
    status: str | None = None
    stop_reason: str | None = None
    turns: int = 0
    decided_by: dict[str, int] = {}
    asked: int = 0
    differed: int = 0
    max_packet_tokens: int = 0
    raw_bytes: int = 0
    change_set: tuple[Change, ...] = ()
    change_set_sha256: str = ""
    error: str | None = None
    head: Head = Head()
    review: str = ""
    conflicts: tuple[dict[str, Any], ...] = ()
    before: dict[str, int] | None = None
    after: dict[str, int] | None = None


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run: its beginning, its jobs (of each the attempt that counts), and what people said."""

    run_id: str
    started: str
    status: str
    start: RunStart
    jobs: tuple[JobView, ...]
    head: Head


def read_run(project: Project, run_id: str) -> RunView:
    """The run as its streams tell it. Raises NotFound, StreamDamaged."""
    path = project.trace.existing_run(run_id)
    events = list(read_events(path))
    if not events:
        raise NotFound(f"the run {run_id} has an empty stream", hint="it was killed as it began")
    start = typed(events[0])
    if not isinstance(start, RunStart):
        raise NotFound(f"{run_id} is no run: its stream begins with {events[0].type}")
    return RunView(
        run_id=run_id,
        started=events[0].timestamp,
        status=stream_status(path),
        start=start,
        jobs=tuple(_jobs(project, events)),
        head=Head(count=len(events), hash=events[-1].hash),
    )


def list_runs(project: Project) -> list[dict[str, Any]]:
    """Every run as `runs --json` shows it, oldest first."""
    shown = ("run_id", "started", "status", "jobs", "pending", "accepted")
    return [{name: getattr(run, name) for name in shown} for run in listed_runs(project.trace)]


def jobs_named(view: RunView, name: str) -> list[JobView]:
    """The jobs whose node `name` means, a name or a glob. Raises NotFound with the nearest."""
    keys = [NodeKey(job.node_id) for job in view.jobs]
    matched = set(match_nodes(keys, name))
    if not matched:
        near = ", ".join(key.removeprefix("node:") for key in nearest(name, keys))
        raise NotFound(
            f"the run {view.run_id} has no node {name!r}", hint=f"nearest: {near}" if near else ""
        )
    return [job for job in view.jobs if job.node_id in matched]


def run_document(project: Project, view: RunView) -> dict[str, Any]:
    """The document of `analyze --json` and `show --json`."""
    plan = view.start.plan
    statuses = [job.status for job in view.jobs]
    return {
        "run_id": view.run_id,
        "root": str(project.root),
        "model": view.start.config.get("model_name"),
        "jobs": [job_document(job) for job in view.jobs],
        "totals": {
            "jobs": len(plan.get("jobs", [])),
            **{status: statuses.count(status) for status in STATUSES},
            "skipped": plan.get("skipped", 0),
            "unreadable": plan.get("unreadable", []),
        },
    }


def job_document(job: JobView) -> dict[str, Any]:
    """One entry of `jobs` in that document."""
    return {
        "agent_id": job.agent_id,
        "operation": job.operation,
        "node_id": job.node_id,
        "attempt": job.attempt,
        "status": job.status,
        "stop_reason": job.stop_reason,
        "review": job.review,
        "turns": job.turns,
        "decided_by": job.decided_by or dict.fromkeys(DECIDERS, 0),
        "asked": job.asked,
        "differed": job.differed,
        "max_packet_tokens": job.max_packet_tokens,
        "raw_bytes": job.raw_bytes,
        "files_changed": [change.path for change in job.change_set],
        "findings": None if job.before is None else {"before": job.before, "after": job.after},
        "conflicts": list(job.conflicts),
        "error": job.error,
    }


def _jobs(project: Project, events: Iterable[Event]) -> Iterator[JobView]:
    """The attempt of each job that counts, in the order in which jobs began."""
    counting = Counting()
    for event in events:
        counting.see(typed(event))
    for start in counting.starts():
        job = read_job(project, start, counting.ends.get(start.agent_id))
        last = counting.verdicts.get(start.agent_id)
        if last is not None:
            job = msgspec.structs.replace(job, review=last.verdict, conflicts=tuple(last.detail))
        elif job.status == "submitted":
            job = msgspec.structs.replace(job, review="pending")
        yield job


def read_job(project: Project, start: JobStart, end: JobEnd | None) -> JobView:
    """An attempt as its agent's stream tells it."""
    view = JobView(
        agent_id=start.agent_id,
        operation=start.operation,
        node_id=start.node_id,
        attempt=start.attempt,
        decided_by=dict.fromkeys(DECIDERS, 0),
    )
    path = project.trace.agent_stream(start.agent_id)
    try:
        for event in read_events(path):
            view = _counted(view, event)
            if event.type == AgentStart.type:
                view = msgspec.structs.replace(view, before=_inherited(project, event))
    except NotFound:
        return msgspec.structs.replace(view, status=INTERRUPTED)
    if end is not None:
        return msgspec.structs.replace(view, status=end.status, head=end.head)
    status = stream_status(path)
    return msgspec.structs.replace(view, status=status if status == RUNNING else INTERRUPTED)


def _inherited(project: Project, event: Event) -> dict[str, int] | None:
    """A fork's findings before its work are those that its parent began with."""
    start = typed(event)
    if not isinstance(start, AgentStart) or not start.changes:
        return None
    known = map(known_findings, ancestors(project.trace, start))
    return next((counts for counts in known if counts is not None), None)


def _counted(view: JobView, event: Event) -> JobView:
    replace = msgspec.structs.replace
    view = replace(view, turns=max(view.turns, event.turn))
    if event.type == ModelRequest.type:
        return replace(view, max_packet_tokens=max(view.max_packet_tokens, sent_tokens(event)))
    if event.type == ToolResulted.type:
        view = _with_findings(view, event)
        return replace(view, raw_bytes=view.raw_bytes + raw_size(event))
    # of what a model or a tool said any text may have been moved to a blob: it is not read here
    data = typed(event) if event.type in (ToolCalled.type, AgentEnd.type) else None
    if isinstance(data, ToolCalled):
        asked = data.decided_by != "rule"
        counts = {**view.decided_by}
        counts[data.decided_by] = counts.get(data.decided_by, 0) + 1
        return replace(
            view,
            decided_by=counts,
            asked=view.asked + asked,
            differed=view.differed + (asked and data.choice not in (None, 0)),
        )
    if isinstance(data, AgentEnd):
        return replace(
            view,
            stop_reason=data.stop_reason,
            change_set=data.change_set,
            change_set_sha256=data.change_set_sha256,
            error=data.error,
        )
    return view


def _with_findings(view: JobView, event: Event) -> JobView:
    counts = known_findings(event)
    if counts is None:
        return view
    before = counts if view.before is None else view.before
    return msgspec.structs.replace(view, before=before, after=counts)
