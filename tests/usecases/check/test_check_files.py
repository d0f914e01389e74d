"""Findings that remain after a run's changes."""

from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.runs.execution.run import RunRequest
from remora.runs.records.job_view import JobView, ReviewState
from remora.usecases.check.check_files import findings_left
from remora.workspaces.copy.snapshot import BaseSnapshot


@pytest.mark.parametrize(("operation", "review"), [("lint", "pending"), ("docstring", "accepted")])
def test_nothing_is_copied_if_no_job_can_leave_findings(
    tmp_path: Path, operation: str, review: str
) -> None:
    """Lint has no report, and what was accepted is not looked at."""
    caller = Invocation(environ={"HOME": str(tmp_path)}, folder=tmp_path, root=tmp_path)
    base = BaseSnapshot(
        root=tmp_path, folder=tmp_path / "gone", files={}, commit=None, differing={}
    )
    job = JobView(
        agent_id="a",
        operation=operation,
        node_id="node:a.py:load",
        review=ReviewState(state=review),
    )
    assert findings_left(RunRequest(), open_project(caller), base, [job]) == set()
