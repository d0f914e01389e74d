"""Texts about jobs, findings and gates of a report, the same in all formats. They are not escaped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from remora.memory.events import GateResult
from remora.operations.base import is_lint_code
from remora.python_text import is_only_counted
from remora.runs.records.findings import codes_text, fixes_text, work_text
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, job_document
from remora.runs.report.report_model import Finding, JobReport
from remora.statuses import CONFLICT, DONE, INTERRUPTED, KEPT, STALE, TEST_GATE, VALUES_GATE
from remora.text import count, escape_line


def finding_text(finding: Finding) -> str:
    """Describe a finding without its rule, e.g. `12 missing annotations`."""
    if not has_rule(finding):
        text = finding.message or finding.code
        return text if finding.count == 1 else count(finding.count, text)
    return finding.message if finding.count == 1 else f"{finding.message} (x{finding.count})"


def has_rule(finding: Finding) -> bool:
    """Return True if the finding has the code of a lint rule."""
    return bool(finding.code) and is_lint_code(finding.code)


def fixes_of(job: JobReport) -> str:
    """Describe a job's fixes as `fixes_text` does. A rejected change set has none."""
    if job.review not in KEPT:
        return ""
    if job.written:
        return f"accepted: {job.written}"
    text = fixes_text(job.fixed, job.review)
    if job.measurement_text and job.fixed and job.review in DONE:
        text += f", {job.measurement_text}"
    return escape_line(text)


def done_summary(job: JobView, *, left: bool = True) -> str:
    """Return what a job fixes and, unless it is not wanted, leaves: `fixes F401 x2; left E501`."""
    return work_text(job_document(job), left=left)


def left_codes(left: Sequence[Finding]) -> str:
    counts: dict[str, int] = {}
    for finding in left:
        counts[finding.code or "?"] = counts.get(finding.code or "?", 0) + finding.count
    return escape_line(codes_text(counts))


def reasons(job: JobReport) -> list[str]:
    found = [job.error] if job.error else []
    if job.review == CONFLICT:
        found = [f"{met.get('path')}: {met.get('detail')}" for met in job.conflicts]
    elif job.review == STALE:
        found = ["the node changed while the agent was working on it"]
    return [*map(escape_line, [*found, *job.reasons])]


def why_not_judged(view: RunView) -> str:
    """Return why gates did not run on the changes of a run that was interrupted, or nothing."""
    has_gates = (view.start.config.get("gates") or {}).get("time_s")
    has_changes = any(job.review.state in KEPT for job in view.jobs)
    if view.gates or view.status != INTERRUPTED or not has_gates or not has_changes:
        return ""
    return f"the run was interrupted; `remora analyze --resume {view.run_id}` runs them"


def gate_texts(view: RunView) -> list[str]:
    """Return the proof, such as `tested: mypy and pytest report the same as before`, and the gaps.

    The last text says why the change sets are not tested. There are none without change sets.
    """
    if why := why_not_judged(view):
        return [f"the project's own tests did not run: {why}"]
    if view.gates is None or not any(job.review.state in KEPT for job in view.jobs):
        return []
    results = sorted(view.gates.results, key=lambda gate: gate.name == TEST_GATE)
    *others, last = [gate.label for gate in results if not gate.missing] or [""]
    held = f"{', '.join(others)} and {last} report" if others else f"{last} reports"
    said = (
        f"{held} the same as before" if last else "none of the project's own checks came to an end"
    )
    return [f"{view.gates.proof}: {said}", *filter(None, map(_text, results))]


def _text(gate: GateResult) -> str:
    if gate.missing:
        kinds = {TEST_GATE: "not tested", VALUES_GATE: "not judged by values"}
        return f"{kinds.get(gate.name, f'no gate: {gate.name}')}: {gate.missing}"
    return f"{gate.name}: {gate.note}" if gate.note else ""


def unread_text(unreadable: Iterable[Mapping[str, Any]]) -> str:
    """Return how many Python files could not be read, such as `2 files could not be read`."""
    number = sum(not is_only_counted(file["path"]) for file in unreadable)
    return f"{count(number, 'file')} could not be read" if number else ""
