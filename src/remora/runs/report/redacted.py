"""Redaction of a report that is given to others."""

from msgspec.structs import replace

from remora.runs.report.report_model import FileChange, JobReport, Report
from remora.trace.redact.redactor import Redactor


def redacted(report: Report, redact: Redactor) -> Report:
    """Return the report with placeholders for secrets in diffs, edits, messages and errors.

    Names and paths are kept, as in streams. A report without secrets is returned unchanged.
    """
    jobs = tuple(_job(job, redact) for job in report.jobs)
    unreadable = redact.clean(report.unreadable)
    same = jobs == report.jobs and unreadable == report.unreadable
    return report if same else replace(report, jobs=jobs, unreadable=unreadable)


def _job(job: JobReport, redact: Redactor) -> JobReport:
    return replace(
        job,
        left=redact.clean(job.left),
        files=tuple(_file(file, redact) for file in job.files),
        conflicts=redact.clean(job.conflicts),
        error=redact.clean(job.error),
    )


def _file(file: FileChange, redact: Redactor) -> FileChange:
    diff, edits = redact.text(file.diff), redact.clean(file.edits)
    # applied, a fix with a placeholder would overwrite the secret
    return replace(file, diff=diff, edits=edits if edits == file.edits else None)
