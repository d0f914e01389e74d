"""Results of a run, read from its streams, and the corresponding JSON documents."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import msgspec
from msgspec.structs import replace

from remora.agents.job import Job
from remora.agents.loop.turn_counts import DECIDERS
from remora.code.syntax.node_patterns import match_nodes
from remora.errors import NotFound
from remora.ids import NodeKey, display_name, split_node_key
from remora.memory.events import Event, Gates, Head, Review, RunStart, TakenOut, Written
from remora.operations.base import FIX_TAKEN_OUT, NEEDS_UNSAFE, NOT_KEPT
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.agent_stream import job_start
from remora.runs.records.attempts import PlannedJob, start_and_jobs
from remora.runs.records.current_attempt import CurrentAttempts
from remora.runs.records.decision_sources import SOURCES, model_part, total_of
from remora.runs.records.findings import ListedFinding, codes_left, left_texts
from remora.runs.records.job_fold import read_job
from remora.runs.records.job_view import JobView, ReviewState
from remora.runs.records.name_lookup import run_named
from remora.runs.records.run_record import RunRecord, read_own_record
from remora.runs.records.totals import totals_by_operation
from remora.statuses import ACCEPTED, FAILURES, PARSED, STALE, STATUSES, UNDECIDED, VERIFIED
from remora.text import nearest
from remora.trace.read.reader import is_being_written, read_events, run_status, typed_payload
from remora.trace.trace_folder import TraceFolder


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run and the current attempt of each job."""

    run_id: str
    started: str
    status: str
    start: RunStart
    """The data of `run_start`, whose plan has no jobs."""
    planned: int
    """The number of planned jobs."""
    jobs: tuple[JobView, ...]
    head: Head
    """The head of the run's stream."""
    record: RunRecord
    """The record, without events if the run was read by its ID."""
    gates: Gates | None = None
    """The last judgement of the project's gates."""

    @property
    def damaged(self) -> tuple[JobView, ...]:
        """The jobs whose streams cannot be read."""
        return tuple(job for job in self.jobs if job.stream.damaged)


def own_record(
    project: Project, run: str | RunView, *, trusted: bool
) -> tuple[RunRecord, Sequence[JobView]]:
    """Return a run's verified record and the jobs that were read with it.

    If `run` is a view with a verified record, both are taken from the view. Otherwise, the record
    is read again and no jobs are returned. Raises whatever `run_named` and `read_own_record` raise.
    """
    if not isinstance(run, RunView):
        run = run_named(project.trace, run)
    elif run.record.verified and (trusted or not run.record.trusted):
        return run.record, run.jobs
    else:
        run = run.run_id
    return read_own_record(project, run, trusted=trusted), ()


def own_run(project: Project, name: str, *, trusted: bool = False) -> RunView:
    """Read a run and verify its record. Raises whatever `own_record` raises."""
    return read_run(project, own_record(project, name, trusted=trusted)[0])


def read_attempt(project: ProjectRecords, job: Job, record: RunRecord) -> JobView:
    """Read an attempt of the run in `record` from the attempt's stream.

    The attempt does not have to be the current attempt of its job.
    """
    counting = CurrentAttempts()
    for event in record.events:
        counting.add(typed_payload(event))
    view = read_job(project.trace, job_start(job), counting.ends.get(job.agent_id))
    return replace(view, nodes=None if job.nodes is None else list(job.nodes))


def read_run(
    project: ProjectRecords,
    run: str | RunRecord,
    known: Sequence[JobView] = (),
    *,
    details: bool = True,
) -> RunView:
    """Read a run from its streams.

    Without `details`, listed findings are left out, which saves memory.

    Attempts in `known` that have already ended are not read again. Raises NotFound if the run does
    not exist, and StreamDamaged if the run's stream is damaged. If only the stream of an attempt is
    damaged, the attempt's view has `damaged` set.
    """
    if isinstance(run, RunRecord):
        record, events = run, iter(run.events)
    else:  # its events are not kept, because a large run has many
        path = project.trace.existing_run(run)
        record = RunRecord(run_id=run, events=(), is_written=is_being_written(path))
        events = read_events(path)
    first, start, planned = _read_start(record.run_id, events)
    counting, last = CurrentAttempts(), first
    for last in events:
        counting.add(typed_payload(last))
    nodes = {(job.operation, job.node_id): job.nodes for job in planned if job.nodes is not None}
    unsafe = start.config.get("unsafe_fixes") is True
    read = _read_jobs(project.trace, counting, known, nodes, hashed=record.verified, unsafe=unsafe)
    if not details:
        read = (replace(job, findings=replace(job.findings, first=(), last=())) for job in read)
    jobs = tuple(read)
    failed = sum(job.status in FAILURES for job in jobs)
    return RunView(
        run_id=record.run_id,
        started=first.timestamp,
        status=run_status(
            is_written=record.is_written,
            ended=counting.ended,
            has_failed=0 < failed == len(planned),
        ),
        start=start,
        planned=len(planned),
        jobs=jobs,
        head=Head(count=last.seq + 1, hash=last.hash),
        record=record,
        gates=counting.gates,
    )


def _read_start(run_id: str, events: Iterator[Event]) -> tuple[Event, RunStart, list[PlannedJob]]:
    """Return the first event of a run, its data without the planned jobs, and these."""
    first = next(events, None)
    if first is None:
        raise NotFound(
            f"the run {run_id} has an empty stream",
            hint="the run was killed before it wrote anything",
        )
    start, planned = None, list[PlannedJob]()
    if first.type == RunStart.type:
        start, planned = start_and_jobs(first, PlannedJob)
    if start is None:
        raise NotFound(f"{run_id} is not a run: its stream begins with {first.type}")
    return replace(first, data=msgspec.Raw(b"{}")), start, planned


def jobs_named(view: RunView, name: str) -> list[JobView]:
    """Return the job of the agent with the ID `name`, or the jobs on nodes that match `name`.

    A job on a file matches by each of its nodes, too, and the path of a file without a job of its
    own matches all jobs in it. `name` may be a glob. Raises NotFound, listing the nearest names, if
    nothing matches.
    """
    ours = [job for job in view.jobs if job.agent_id == name]
    if ours:
        return ours
    keys = [NodeKey(key) for job in view.jobs for key in _keys(job)]
    matched = {*match_nodes(keys, name)} or {key for key in keys if split_node_key(key)[0] == name}
    if not matched:
        near = ", ".join(display_name(key) for key in nearest(name, keys))
        left = (
            f"`remora show {view.run_id} -v` lists its functions, and what was left without a job"
        )
        raise NotFound(
            f"the run {view.run_id} has no job on {name!r}, and changes nothing there",
            hint=f"{left}; nearest: {near}" if near else left,
        )
    return [job for job in view.jobs if not matched.isdisjoint(_keys(job))]


def _keys(job: JobView) -> list[str]:
    """Return the keys of the job's node, and of the nodes of a file that it works on."""
    return [job.node_id, *(job.nodes or ())]


def select_jobs(view: RunView, names: Iterable[str]) -> list[JobView]:
    """Return the jobs that match any of the names, in run order and without duplicates."""
    meant = {job.agent_id for name in names for job in jobs_named(view, name)}
    return [job for job in view.jobs if job.agent_id in meant]


def run_document(project: ProjectRecords, view: RunView) -> dict[str, Any]:
    """Return the document printed by `analyze --json` and `show --json`."""
    plan = view.start.plan
    statuses = [job.status for job in view.jobs]
    jobs = JobDocuments(view.jobs)
    return {
        "run_id": view.run_id,
        "root": str(project.root),
        "model": view.start.config.get("model_name"),
        "rules": plan.get("rules") or None,
        "jobs": jobs,
        "not_planned": not_planned(plan.get("left_nodes", {}), plan.get("left_findings", {})),
        "totals": {
            "jobs": view.planned,
            **{status: statuses.count(status) for status in STATUSES},
            "skipped": plan.get("skipped", 0),
            "skipped_nodes": plan.get("skipped_nodes", 0),
            "unreadable": plan.get("unreadable", []),
            "decisions": total_of(job.decisions for job in view.jobs),
            "gates": view.gates
            and {
                key: msgspec.to_builtins(getattr(view.gates, key))
                for key in ("proof", "seconds", "results")
            },
            "by_model": msgspec.to_builtins(model_part(view.jobs)),
            "operations": [
                total.document()
                for total in totals_by_operation(jobs, plan, project.operations.totals)
            ],
        },
    }


def not_planned(
    nodes: Mapping[str, Mapping[str, Iterable[str]]], findings: Mapping[str, Iterable[str]]
) -> list[dict[str, str]]:
    """Return the entries for nodes that need work but have no job, and findings that no job fixes."""
    found = [
        {"operation": operation, "reason": reason, "node_id": node}
        for operation, reasons in nodes.items()
        for reason, keys in reasons.items()
        for node in keys
    ]
    texts = [(reason, text) for reason, texts in findings.items() for text in texts]
    return found + [{"reason": reason, "finding": text} for reason, text in texts]


class JobDocuments(Sequence[dict[str, Any]]):
    """The entries of jobs in a run's document. Each is created when it is read, to save memory."""

    def __init__(self, jobs: Sequence[JobView]) -> None:
        self._jobs = jobs

    def __len__(self) -> int:
        return len(self._jobs)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> "JobDocuments": ...

    def __getitem__(self, place: int | slice) -> "dict[str, Any] | JobDocuments":
        found = self._jobs[place]
        return job_document(found) if isinstance(found, JobView) else JobDocuments(found)


def job_document(job: JobView) -> dict[str, Any]:
    """Return the entry of a job in a run's document."""
    outcome, counts, review, found = job.outcome, job.counts, job.review, job.findings
    return {
        "agent_id": job.agent_id,
        "operation": job.operation,
        "node_id": job.node_id,
        "nodes": job.nodes,
        "attempt": job.attempt,
        "status": job.status,
        "stop_reason": outcome.stop_reason,
        "review": review.state,
        "branch": review.branch,
        "proof": job.proposal.proof or None,
        "written": review.written and _written_document(review.written),
        "rest": list(review.left),
        "present": list(review.present),
        "whole": review.is_whole,
        "turns": counts.turns,
        "decided_by": counts.decided_by or dict.fromkeys(DECIDERS, 0),
        "decisions": job.decisions or dict.fromkeys(SOURCES, 0),
        "invalid": counts.invalid,
        "refused": counts.refused,
        "max_packet_tokens": counts.max_packet_tokens,
        "raw_bytes": counts.raw_bytes,
        "files_changed": [change.path for change in job.changes],
        "worth": found.measurements,
        "findings": None
        if found.before is None
        else {"before": found.before, "after": found.after},
        "conflicts": list(review.conflicts),
        "why": outcome.why,
        "reasons": list(job.all_reasons),
        "left": list(left_texts(found.remaining)),
        "same": job.proposal.same,
        "error": outcome.error,
    }


def _written_document(written: Written) -> dict[str, Any]:
    return {"hunks": list(written.hunks), "of": written.of, "edited": written.edited}


def _with_unsafe_permitted(job: JobView) -> JobView:
    """Return a job of a run with unsafe fixes: what needed only the permission was not kept."""
    found = [
        replace(finding, kept=NOT_KEPT) if finding.reason == NEEDS_UNSAFE else finding
        for finding in job.findings.last
    ]
    findings = replace(job.findings, last=tuple(found), remaining=codes_left(found))
    return replace(job, findings=findings)


def _with_judgement(job: JobView, counting: CurrentAttempts) -> JobView:
    """Return the job with what stands behind its change set, without what gates took out."""
    if job.status != VERIFIED:
        return job
    proof, taken = counting.proofs.get(job.agent_id, PARSED), counting.taken_out.get(job.agent_id)
    if taken is None or {*taken.reasons} <= {*job.proposal.reasons}:  # it is known from before
        return replace(job, proposal=replace(job.proposal, proof=proof))
    recorded = msgspec.convert(taken.findings, tuple[ListedFinding, ...])
    back = [replace(finding, kept=FIX_TAKEN_OUT) for finding in recorded]
    again, found = Counter(finding.code for finding in back), job.findings
    reasons = tuple(dict.fromkeys((*job.proposal.reasons, *taken.reasons)))
    return replace(
        job,
        proposal=replace(job.proposal, proof=proof, reasons=reasons),
        findings=replace(
            found,
            after=None if found.after is None else dict(Counter(found.after) + again),
            remaining=found.remaining | codes_left(back),
            measurements=None if back else found.measurements,
            last=(*found.last, *back),
        ),
    )


def _is_whole(last: Review | None, left: Collection[int], taken_out: TakenOut | None) -> bool:
    """Return True if all hunks that a run proposed are accepted or pending, without edits."""
    written = last.written if last is not None and last.verdict == ACCEPTED else None
    if last is None or not (written or last.left):
        return True
    if written is None or written.edited:
        return False
    proposed = written.of if taken_out is None else len(taken_out.kept)
    return len({*written.hunks, *left}) == proposed


def _read_jobs(
    folder: TraceFolder,
    counting: CurrentAttempts,
    known: Iterable[JobView],
    nodes: Mapping[tuple[str, str], list[str]],
    *,
    hashed: bool,
    unsafe: bool,
) -> Iterator[JobView]:
    """Yield the current attempt of each job, in the order in which jobs began.

    `nodes` has the nodes of the jobs on a file.
    """
    earlier = {job.agent_id: job for job in known}
    for start in counting.starts():
        agent_id, end = start.agent_id, counting.ends.get(start.agent_id)
        job = earlier.get(agent_id)
        if job is None or end is None or job.stream.head != end.head:
            job = read_job(folder, start, end, hashed=hashed)
        if unsafe and NEEDS_UNSAFE in job.findings.remaining:
            job = _with_unsafe_permitted(job)
        job = with_review(job, counting)
        yield replace(job, nodes=nodes.get((job.operation, job.node_id)))


def with_review(job: JobView, counting: CurrentAttempts) -> JobView:
    """Return the job with the verdicts of gates and users in its run's events."""
    agent_id = job.agent_id
    job = _with_judgement(job, counting)
    review, last = counting.review(agent_id), counting.verdicts.get(agent_id)
    if review in UNDECIDED and job.status != VERIFIED:
        review, last = "", None  # an unreadable change set cannot be reviewed
    elif review in UNDECIDED and job.changed_by_user:
        review = STALE
    accepted = last if last is not None and last.verdict == ACCEPTED else None
    state = ReviewState(
        state=review,
        verdict="" if last is None else last.verdict,
        branch=None if last is None else last.branch,
        feedback=None if last is None else last.feedback,
        written=None if accepted is None else accepted.written,
        present=() if accepted is None else accepted.present,
        is_whole=_is_whole(last, counting.left(agent_id), counting.taken_out.get(agent_id)),
        left=counting.left(agent_id) if review in UNDECIDED else (),
        conflicts=tuple(last.detail) if last is not None else (),
    )
    return replace(job, review=state)
