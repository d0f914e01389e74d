"""What a run's progress says while the project's own checks judge the changes."""

import io

import pytest
from rich.console import Console

from remora.agents.job import AgentResult
from remora.cli.views.progress import LineProgress, LiveDisplay
from remora.memory.events import ModelRequest, TurnStart
from remora.runs.planning.plan import Plan
from remora.usecases.analyze.run_limits import RunBudget
from tests.agents.conftest import a_job
from tests.exports.test_transcripts import event
from tests.runs.conftest import Watching

JOB = a_job("read", "lint")


def shown(display: LiveDisplay, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(display)
    return captured.get().strip()


def done() -> LiveDisplay:
    """A display of a run whose only job has ended."""
    display = LiveDisplay()
    display.planned("run", Plan(jobs=(JOB,)))
    display.began(JOB)
    display.ended(JOB, AgentResult(status="verified", stop_reason="verified"))
    return display


def test_a_display_names_the_check_and_its_time_in_place_of_the_bar() -> None:
    display = done()
    assert "1/1" in shown(display)
    display.judging("pytest")
    assert shown(display, 40).endswith("checking the project: pytest 0:00:00")
    assert len(shown(display, 40).splitlines()) == 1
    display.judging("pytest in a repository with a long name")
    assert "0:00:00" in shown(display, 40)
    assert "with a long" in shown(display, 40)


def test_the_time_of_a_check_begins_with_it() -> None:
    seconds = 100.0
    display = done()
    display._checks.get_time = display._checks.tasks[0]._get_time = lambda: seconds
    display.judging("pytest")
    assert shown(display).endswith("pytest 0:00:00")
    seconds += 12
    display.judging("pytest")
    assert shown(display).endswith("pytest 0:00:12")
    display.judging("ruff")
    assert shown(display).endswith("ruff 0:00:00")


def test_a_display_shows_the_bar_while_a_job_works() -> None:
    display = done()
    display.planned("run", Plan(jobs=(JOB,) * 2))
    display.judging("pytest")
    display.began(JOB)
    assert "1/2" in shown(display)


def test_a_job_that_waits_for_a_model_shows_its_tokens_and_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    display = done()
    display.began(JOB)
    request = ModelRequest(prompt="?", prompt_tokens=480, packet_sha256="0" * 64)
    display.event(JOB, event(request))
    now += 12
    assert f"{JOB.qualname} (model: 480 tokens, 12 s)" in shown(display)
    display.event(JOB, event(TurnStart()))
    assert "12 s" not in shown(display)


def test_a_run_without_jobs_has_no_bar() -> None:
    display = LiveDisplay()
    display.planned("run", Plan())
    assert shown(display) == ""


def test_lines_for_jobs_are_left_out_of_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    for jobs, number in ((True, 1), (False, 0)):
        progress = LineProgress(jobs=jobs)
        progress.planned("run", Plan(jobs=(JOB,)))
        progress.ended(JOB, AgentResult(status="verified", stop_reason="verified"))
        assert len(capsys.readouterr().err.splitlines()) == number


@pytest.mark.parametrize("jobs", [True, False])
def test_lines_name_each_check_once(jobs: bool, capsys: pytest.CaptureFixture[str]) -> None:
    progress = LineProgress(jobs=jobs)
    for gate in ("ruff", "pytest", "pytest", "ruff", "pytest"):
        progress.judging(gate)
    assert capsys.readouterr().err == "checking the project: ruff\nchecking the project: pytest\n"


def test_a_budget_passes_the_check_on() -> None:
    watching = Watching()
    RunBudget().watch(watching).judging("pytest")
    assert watching.told == [("judging", "pytest")]
