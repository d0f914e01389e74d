"""Findings that a job fixed and left, of which several have the same text."""

from remora.operations.base import FIX_TAKEN_OUT, NO_FIX
from remora.runs.records.findings import ListedFinding
from remora.runs.records.job_view import JobFindings, JobView, ReviewState
from remora.runs.report.job_findings import findings_fixed, findings_left
from remora.statuses import PENDING

TEXT = "Use format specifiers instead of percent format"


def listed(line: int, kept: str = "", fix_kind: str = "safe") -> ListedFinding:
    return ListedFinding("UP031", TEXT, line, kept, fix_kind)


JOB = JobView(
    agent_id="lint-1",
    operation="lint",
    node_id="node:a.py:<module>",
    review=ReviewState(state=PENDING),
    findings=JobFindings(
        before={"UP031": 4},
        after={"UP031": 2},
        first=(listed(100), listed(152), listed(250), listed(753)),
        last=(listed(760, fix_kind="none"), listed(250, FIX_TAKEN_OUT)),
    ),
)


def test_findings_alike_are_fixed_or_left_each_with_its_line_and_reason() -> None:
    left = [(finding.line, finding.reason) for finding in findings_left(JOB, ())]
    assert left == [(250, FIX_TAKEN_OUT), (753, NO_FIX)]
    assert [finding.line for finding in findings_fixed(JOB)] == [100, 152]
    assert [finding.line for finding in findings_left(JOB, {753, 152})] == [100, 250]
