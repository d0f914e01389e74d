"""What is printed of runs with many jobs."""

import json
from dataclasses import dataclass

import click
import pytest
from msgspec.structs import replace

from remora.cli.app.output import print_json
from remora.cli.views import run_view
from remora.cli.views.run_view import run_lines, status_lines
from remora.runs.records.job_view import Outcome
from remora.runs.records.results import JobDocuments, RunView, run_document
from tests.runs.conftest import Desk


@dataclass(frozen=True)
class Options:
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    root: None = None
    config: None = None


@pytest.fixture
def view(ran: Desk, monkeypatch: pytest.MonkeyPatch) -> RunView:
    monkeypatch.setattr(run_view, "_MOST_LISTED", 2)
    return ran.view(ran.newest)


def shown(ran: Desk, view: RunView, *, brief: bool) -> str:
    document = run_document(ran.project, view)
    lines = run_lines(Options(), ran.project, view, document, brief=brief)  # type: ignore[arg-type]
    return click.unstyle("\n".join(lines))


def test_a_large_run_is_not_listed_when_it_ends(ran: Desk, view: RunView) -> None:
    assert "a.py\n" in shown(ran, view, brief=False)
    brief = shown(ran, view, brief=True)
    assert "a.py\n" not in brief
    assert f"`remora show {view.run_id}" in brief
    assert "` lists all 3" in brief
    assert "3 checked" in brief


def test_the_first_failed_jobs_of_a_large_run_are_listed(
    ran: Desk, view: RunView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_view, "_MOST_PROBLEMS", 1)
    jobs = tuple(
        replace(job, status="failed", outcome=Outcome(error="it broke")) for job in view.jobs
    )
    brief = shown(ran, replace(view, jobs=jobs), brief=True)
    assert brief.count("it broke") == 1
    more = f"2 more with the status failed: `remora show {view.run_id} --status failed"
    assert more in brief


def test_jobs_are_selected_by_status(ran: Desk, view: RunView) -> None:
    def selected(*statuses: str) -> str:
        document = run_document(ran.project, view)
        jobs = JobDocuments([job for job in view.jobs if job.status in statuses])
        lines = status_lines(Options(), view, document, statuses, jobs)  # type: ignore[arg-type]
        return click.unstyle("\n".join(lines))

    named = {job.status for job in view.jobs}
    assert named == {"verified"}
    assert "a.py\n" in selected("verified")
    assert "3 checked" in selected("verified", "error")
    assert selected("error") == "no job has the status error"
    assert selected("error", "failed") == "no job has the status error or failed"


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_document_printed_job_by_job_is_the_same(
    ran: Desk, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    view = ran.view(ran.newest)
    lazy = {**run_document(ran.project, view), "jobs": JobDocuments(view.jobs[:number])}
    print_json(lazy)
    whole = {**lazy, "jobs": list(lazy["jobs"])}
    assert capsys.readouterr().out == json.dumps(whole, indent=2) + "\n"
