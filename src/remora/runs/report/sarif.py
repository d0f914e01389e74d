"""Run reports as SARIF 2.1.0, with proposed fixes and remaining findings."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from remora.ids import MODULE, display_name, node_key, unescape_path
from remora.operations.base import is_lint_code
from remora.runs.report.check_document import unchecked_of
from remora.runs.report.job_texts import finding_text, fixes_of, left_codes, reasons
from remora.runs.report.problems import Problem, fixes_problem
from remora.runs.report.report_model import Edit, FileChange, Finding, JobReport, Report
from remora.statuses import ENDED, ERROR, UNDECIDED, WITHOUT_RESULT
from remora.text import escape_hidden, escape_line

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "%SRCROOT%"


def sarif(report: Report, problems: Iterable[Problem] | None = None) -> dict[str, Any]:
    """Return the report as a SARIF log. Line numbers refer to the files at the start of the run.

    With the problems of a check, these are the results, and the first one that a change set fixes
    has the fix.
    """
    results = (
        [result for job in report.jobs for result in _results(job)]
        if problems is None
        else list(_problem_results(report.jobs, problems))
    )
    properties = {"head": f"{report.head.count} {report.head.hash}"}
    return _log(results, report.version, report.run_id, _invocation(report), properties)


def sarif_of_problems(
    problems: Iterable[Problem], version: str, unjudged: Iterable[str]
) -> dict[str, Any]:
    """Return problems without a run as a SARIF log. `unjudged` says what could not be judged."""
    notes = [{"level": "note", "message": {"text": _message(text)}} for text in unjudged]
    invocation = {
        "executionSuccessful": True,
        **({"toolExecutionNotifications": notes} if notes else {}),
    }
    return _log(list(_problem_results((), problems)), version, "judge", invocation, {})


def _log(
    results: list[dict[str, Any]],
    version: str,
    name: str,
    invocation: dict[str, Any],
    properties: dict[str, str],
) -> dict[str, Any]:
    rules = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Remora",
                        "version": version,
                        "rules": [{"id": rule} for rule in rules],
                    }
                },
                "automationDetails": {"id": f"remora/{name}"},
                "columnKind": "unicodeCodePoints",
                "invocations": [invocation],
                "results": results,
                "properties": properties,
            }
        ],
    }


def _invocation(report: Report) -> dict[str, Any]:
    notifications = [
        {
            "level": "error" if job.status == ERROR else "warning",
            "message": {"text": _message(f"{job.operation} {display_name(job.node_id)}: {text}")},
        }
        for job in report.jobs
        if job.status in WITHOUT_RESULT
        for text in [*reasons(job), *([] if job.error else [job.status])]
    ]
    wrong = unchecked_of(report)
    unread = (_message(failure.text) for failure in wrong if not failure.operation)
    notifications += [{"level": "error", "message": {"text": text}} for text in unread]
    return {
        "executionSuccessful": report.status == ENDED and not wrong,
        "startTimeUtc": report.started,
        **({"toolExecutionNotifications": notifications} if notifications else {}),
    }


def _results(job: JobReport) -> Iterator[dict[str, Any]]:
    if job.review in UNDECIDED and job.files:
        yield _proposal_result(job)
    for number, finding in enumerate(job.left):
        yield _finding_result(job, finding, number)


def _proposal_result(job: JobReport) -> dict[str, Any]:
    name = display_name(job.node_id) if job.name == MODULE else job.name
    text = f"{job.operation}: a checked change to {name}"
    text += f": {fixes_of(job)}" if job.fixed else ""
    text += f"; {left_codes(job.left)} remaining" if job.left else ""
    edits = job.files[0].edits
    result = _result(job, f"remora/{job.operation}", "; ".join([text, *reasons(job)]), "note")
    place = _place(job.files[0].path, edits[0].start if edits else None)
    return {
        **result,
        "locations": [{**place, **_logical(job.path, job.name)}],
        **_fixes(job),
        "properties": {"agent": job.agent_id, "review": job.review, "proof": job.proof},
    }


def _fixes(job: JobReport) -> dict[str, Any]:
    """Return the fix of a change set, or nothing if one of its files is binary."""
    changes = [_artifact_change(file) for file in job.files if file.edits is not None]
    return {"fixes": [{"artifactChanges": changes}]} if len(changes) == len(job.files) else {}


def _finding_result(job: JobReport, finding: Finding, number: int) -> dict[str, Any]:
    known = finding.code and is_lint_code(finding.code)
    rule = finding.code if known else f"remora/{job.operation}"
    result = _result(job, rule, finding_text(finding), "warning", number)
    return {
        **result,
        "locations": [{**_place(job.path, finding.line), **_logical(job.path, job.name)}],
        "properties": {"agent": job.agent_id, "reason": finding.reason},
    }


def _problem_results(
    jobs: Iterable[JobReport], problems: Iterable[Problem]
) -> Iterator[dict[str, Any]]:
    waiting = [job for job in jobs if job.review in UNDECIDED and job.files]
    seen: Counter[tuple[str, ...]] = Counter()
    for problem in problems:
        name = problem.name or MODULE
        rule = f"remora/{problem.operation}/{problem.code}".rstrip("/")
        of = f"{problem.operation} {node_key(problem.path, name)}"
        fixing = [job for job in waiting if fixes_problem(job, problem)][:1]
        waiting = [job for job in waiting if job not in fixing]
        key = of, rule, problem.message
        level = "note" if problem.fixable else "warning"
        yield {
            **_make_result(*key, level, seen[key]),
            "locations": [{**_place(problem.path, problem.line), **_logical(problem.path, name)}],
            **(_fixes(fixing[0]) if fixing else {}),
        }
        seen[key] += 1


def _result(job: JobReport, rule: str, text: str, level: str, number: int = 0) -> dict[str, Any]:
    return _make_result(f"{job.operation} {job.node_id}", rule, text, level, number)


def _make_result(of: str, rule: str, text: str, level: str, number: int = 0) -> dict[str, Any]:
    known = sha256(f"{of} {rule} {text} {number}".encode()).hexdigest()
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": _message(text)},
        "partialFingerprints": {"remora/v1": known},
    }


def _message(text: str) -> str:
    """Escape what hides or reorders text, and what SARIF would interpret as links or placeholders."""
    text = escape_hidden(text).replace("{", "{{").replace("}", "}}")
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _place(path: str, line: int | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if line:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _logical(path: str, name: str) -> dict[str, Any]:
    return {"logicalLocations": [{"fullyQualifiedName": escape_line(f"{path}:{name}")}]}


def _artifact_change(file: FileChange) -> dict[str, Any]:
    return {
        "artifactLocation": _artifact(file.path),
        "replacements": [_replacement(edit, file) for edit in file.edits or ()],
    }


def _replacement(edit: Edit, file: FileChange) -> dict[str, Any]:
    """Return a replacement of whole lines.

    If the last line has no newline, the replaced region ends at the last column of that line.
    """
    end, column = edit.end, 1
    if file.last_column and edit.end > file.lines:
        end, column = file.lines, file.last_column + 1
    region = {"startLine": edit.start, "startColumn": 1, "endLine": end, "endColumn": column}
    return {
        "deletedRegion": region,
        **({"insertedContent": {"text": edit.text}} if edit.text else {}),
    }


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(os.fsencode(unescape_path(path))), "uriBaseId": _BASE}
