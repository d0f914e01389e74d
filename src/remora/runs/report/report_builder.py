"""Creation of a run's report from its streams and stored file contents."""

from collections import Counter
from contextlib import suppress
from typing import Any, Literal

from msgspec.structs import replace

from remora.errors import RemoraError
from remora.ids import escape_path, split_node_key
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.change_set_files import patches_of, shown_hunks
from remora.runs.records.decision_sources import model_part, total_of
from remora.runs.records.findings import fixed_and_left, written_text
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, job_document
from remora.runs.records.totals import totals_by_operation
from remora.runs.report.job_findings import findings_fixed, findings_left
from remora.runs.report.job_texts import gate_texts
from remora.runs.report.report_model import Edit, FileChange, JobReport, Report
from remora.statuses import PENDING, UNDECIDED, VERIFIED, proven_text
from remora.trace.redact.redactor import Redactor
from remora.version import __version__
from remora.workspaces.apply.line_diff import diff_hunks, split_lines
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.copy.changes import diff


def make_report(
    project: Project, view: RunView, *, raw: bool = False, grouped: bool = False
) -> Report:
    """Return the report of a run. Secrets are redacted unless `raw` is True.

    If a file's content is missing, its job has no diffs. `grouped` adds the groups of edits.
    """
    report = _build_report(project, view)
    if grouped:
        jobs = zip(report.jobs, view.jobs, strict=True)
        report = replace(report, jobs=tuple(_with_groups(project, *pair) for pair in jobs))
    return report if raw else redacted(report, project.redact)


def _build_report(project: ProjectRecords, view: RunView) -> Report:
    plan = view.start.plan
    documents = [job_document(job) for job in view.jobs]
    lost = {taken.agent_id: taken.reasons for taken in view.gates.taken_out} if view.gates else {}
    jobs = tuple(
        _job(project, job, document, lost.get(job.agent_id, ()))
        for job, document in zip(view.jobs, documents, strict=True)
    )
    sums = totals_by_operation(documents, plan, project.operations.totals)
    keys = [total.key for total in project.operations.totals if total.counts_findings]
    linted = [
        measure for total in sums for key in keys if (measure := total.measures[key]) is not None
    ]
    return Report(
        run_id=view.run_id,
        project=project.root.name,
        started=view.started,
        status=view.status,
        model=view.start.config.get("model_name"),
        version=__version__,
        head=view.head,
        commit=view.start.base.get("commit"),
        planned=view.planned,
        skipped=plan.get("skipped", 0),
        skipped_nodes=plan.get("skipped_nodes", 0),
        unreadable=tuple(plan.get("unreadable", [])),
        states=dict(Counter(job.state for job in jobs)),
        waiting=sum(job.review.state in UNDECIDED for job in view.jobs),
        fixed=sum(measure["fixed"] for measure in linted) if linted else None,
        findings=sum(measure["of"] for measure in linted) if linted else None,
        sums=sums,
        decisions=total_of(job.decisions for job in view.jobs),
        by_model=model_part(view.jobs),
        gates=tuple(gate_texts(view)),
        jobs=jobs,
    )


def _job(
    project: ProjectRecords, job: JobView, document: dict[str, Any], taken_out: tuple[str, ...]
) -> JobReport:
    path, name = split_node_key(job.node_id)
    known = fixed_and_left(document)
    files = _files(project, job)
    edits = (edit for file in files if file.path == path for edit in file.edits or ())
    edited = {line for edit in edits for line in range(edit.start, edit.end)}
    return JobReport(
        agent_id=job.agent_id,
        operation=job.operation,
        node_id=job.node_id,
        path=path,
        name=name,
        status=job.status or "",
        review=job.review.state,
        state=proven_text(VERIFIED, job.proposal.proof)
        if job.review.state == PENDING
        else job.review.state or str(job.status),
        turns=job.counts.turns,
        decided_by=job.counts.decided_by,
        fixed=dict(known[0]) if known else {},
        measurements=job.findings.measurements,
        measurement_text=project.operations.measurement_text(job.findings.measurements or {}),
        fixes=findings_fixed(job, edited),
        left=findings_left(job, edited),
        files=files,
        conflicts=job.review.conflicts,
        branch=job.review.branch,
        error=job.outcome.error,
        reasons=job.all_reasons,
        taken_out=taken_out,
        head=job.stream.head,
        written=written_text(document["written"]) if document["written"] else "",
        proof=job.proposal.proof,
    )


def _files(project: ProjectRecords, job: JobView) -> tuple[FileChange, ...]:
    with suppress(RemoraError):  # a missing or damaged object; `trace verify` reports it
        return tuple(map(_file, patches_of(project, job)))
    return ()


def _file(patch: FilePatch) -> FileChange:
    old = split_lines(patch.base or b"")
    kind: Literal["added", "modified", "deleted"] = "modified"
    if patch.base is None or patch.theirs is None:
        kind = "added" if patch.base is None else "deleted"
    return FileChange(
        path=escape_path(patch.path),
        kind=kind,
        diff=diff(patch.path, patch.base, patch.theirs, mode=patch.mode),
        edits=_edits(old, split_lines(patch.theirs or b"")),
        lines=len(old),
        last_column=_open_column(old),
    )


def _with_groups(project: ProjectRecords, report: JobReport, job: JobView) -> JobReport:
    hunks = shown_hunks(project, job) if report.files and job.review.state in UNDECIDED else ()
    files = []
    for file in report.files:
        groups = tuple(hunk.group for hunk in hunks if escape_path(hunk.path) == file.path)
        number = len(file.edits or ())  # that of a part of a change set may differ
        files.append(replace(file, groups=groups if len(groups) == number else (0,) * number))
    return replace(report, files=tuple(files))


def _edits(old: list[bytes], new: list[bytes]) -> tuple[Edit, ...] | None:
    try:
        return tuple(
            Edit(hunk.start + 1, hunk.end + 1, b"".join(hunk.lines).decode())
            for hunk in diff_hunks(old, new)
        )
    except UnicodeDecodeError:
        return None


def _open_column(lines: list[bytes]) -> int:
    last = lines[-1] if lines else b"\n"
    return 0 if last.endswith(b"\n") else len(last.decode("utf-8", "replace"))


def redacted(report: Report, redact: Redactor) -> Report:
    """Return the report with secrets replaced in diffs, edits, messages and errors.

    Names and paths are kept, as in streams. A report without secrets is returned unchanged.
    """
    jobs = tuple(_redacted_job(job, redact) for job in report.jobs)
    unreadable = redact.clean(report.unreadable)
    same = jobs == report.jobs and unreadable == report.unreadable
    return report if same else replace(report, jobs=jobs, unreadable=unreadable)


def _redacted_job(job: JobReport, redact: Redactor) -> JobReport:
    return replace(
        job,
        fixes=redact.clean(job.fixes),
        left=redact.clean(job.left),
        files=tuple(_redacted_file(file, redact) for file in job.files),
        conflicts=redact.clean(job.conflicts),
        error=redact.clean(job.error),
        reasons=redact.clean(job.reasons),
    )


def _redacted_file(file: FileChange, redact: Redactor) -> FileChange:
    diff, edits = redact.text(file.diff), redact.clean(file.edits)
    # applying a fix with a placeholder would overwrite the secret
    return replace(file, diff=diff, edits=edits if edits == file.edits else None)
