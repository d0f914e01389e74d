"""Check that a lint change set removes findings."""

from typing import Any

from remora.code.edit.comments import silences_more
from remora.operations.checks import known_keys, lines_worked_on
from remora.operations.submission import Submission


def fewer_findings(submission: Submission) -> str:
    """Check that the nodes that the job works on have fewer findings than before.

    New comments that silence a linter are not allowed.
    """
    path = submission.path
    contents = submission.files.get(path)
    if contents is None:
        return f"{path} was not changed"
    known = known_keys(path, contents[0])
    own = [lines_worked_on(submission, source, known) for source in contents]
    if own[1] is None:
        return f"{path} has no {submission.node_name} any more"
    if silences_more(*((source or b"").decode("latin-1") for source in contents)):
        return f"{path}: a comment silences findings instead of fixing them"
    before = _count(submission.findings_before(path), own[0] or frozenset())
    after = _count(submission.findings_after(path), own[1])
    return "" if after < before else f"{before} findings before, {after} after"


def _count(findings: list[dict[str, Any]], lines: frozenset[int]) -> int:
    return sum(finding.get("line") in lines for finding in findings)
