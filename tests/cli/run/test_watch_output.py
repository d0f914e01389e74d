"""What `remora watch` prints after an analysis."""

from pathlib import Path

import pytest

from remora.cli.app.options import Options
from remora.cli.run.watch_output import JsonOutput, TextOutput
from remora.runs.records.job_view import JobView
from remora.usecases.watch.watch_pass import PassResult

FINE, FAILED, STOPPED = (
    JobView(agent_id=f"lint-{status}", operation="lint", node_id="node:a.py:load", status=status)
    for status in ("no_change", "error", "interrupted")
)


def test_failed_jobs_are_not_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = TextOutput(Options(root=tmp_path))
    output.started(tmp_path, "c" * 40)
    output.analyzed(PassResult(run_id="r1", jobs=(FAILED,)))
    alone = capsys.readouterr().err
    assert "1 job failed: remora show r1" in alone
    assert "nothing to propose" not in alone
    output.analyzed(PassResult(run_id="r2", jobs=(FINE, FAILED, STOPPED)))
    mixed = capsys.readouterr().err
    assert "1 job, nothing to propose" in mixed
    assert "2 jobs failed: remora show r2" in mixed


def test_json_lines_count_failed_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    JsonOutput().analyzed(PassResult(run_id="r1", jobs=(FINE, FAILED)))
    assert '"jobs":2,"failed":1' in capsys.readouterr().out.replace(" ", "")
