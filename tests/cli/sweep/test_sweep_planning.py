"""The processes that plan the repositories of a sweep: their code, their end and their time."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from remora.cli.app.options import Options
from remora.cli.app.run_options import RunOptions
from remora.cli.sweep.start_sweep import start_sweep
from remora.config.repository_list import ListedRepository
from remora.errors import UsageError
from remora.runs.planning.run_request import RunRequest
from remora.usecases.analyze import run_limits
from remora.usecases.sweep.plan_processes import plan_all
from remora.usecases.sweep.plan_repository import plan_repository
from remora.usecases.sweep.repository_plan import PlanTask, RepositoryPlan
from tests.cli.conftest import Remora, write
from tests.cli.sweep.test_sweep import UNUSED, repository

RUN = "20260131-093000-1f2e3d"
WAIT_S = 30


def task(root: Path) -> PlanTask:
    return PlanTask(
        run_id=RUN,
        repository=ListedRepository(name=root.name, url="", clone=str(root)),
        request=RunRequest(operations=("lint",)),
        flags={},
        records=True,
        full=False,
    )


def planner(remora: Remora, folder: Path) -> "subprocess.Popen[bytes]":
    """A planner that has copied the files of its repository and has its plan still to make."""
    files = {f"m{number}.py": UNUSED for number in range(40)}
    root = repository(folder / "large", **files)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "remora.usecases.sweep.plan_repository"],
        env=remora.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(task(root)) + b"\n")
    process.stdin.flush()
    end = time.monotonic() + WAIT_S
    while not [file for base in bases(remora) for file in base.iterdir()]:
        assert time.monotonic() < end
        time.sleep(0.001)
    return process


def bases(remora: Remora) -> list[Path]:
    return [*(remora.home / "cache").rglob(f"bases/{RUN}*")]


def check_ended_without_plan(process: "subprocess.Popen[bytes]", remora: Remora) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        assert not process.stdout.read(), "it had ended before"
        assert process.wait(WAIT_S)
    assert bases(remora) == []


@pytest.mark.slow
def test_a_planner_removes_its_files_when_it_is_terminated(remora: Remora, tmp_path: Path) -> None:
    with planner(remora, tmp_path) as process:
        process.terminate()
        check_ended_without_plan(process, remora)
    assert not (tmp_path / "large" / ".agentfs" / "traces" / "runs").exists()


@pytest.mark.slow
def test_a_planner_ends_with_its_driver(remora: Remora, tmp_path: Path) -> None:
    with planner(remora, tmp_path) as process:
        assert process.stdin is not None
        process.stdin.close()  # as the system does when the driver is killed
        check_ended_without_plan(process, remora)


@pytest.mark.slow
def test_a_repository_is_planned_again_after_its_planner_was_killed(
    remora: Remora, tmp_path: Path
) -> None:
    with planner(remora, tmp_path) as process:
        process.kill()
        process.communicate()
    (left,) = bases(remora)
    left.rename(left.with_name(RUN))
    planned = plan_repository(task(tmp_path / "large"), remora.environment)
    assert (planned.state, planned.error) == ("planned", "")


def test_code_in_the_current_folder_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(tmp_path, {"msgspec.py": "open('ran', 'w')\n"})
    monkeypatch.chdir(tmp_path)

    async def plan() -> list[RepositoryPlan]:
        return [each async for each in plan_all([task(tmp_path / "nowhere")])]

    (planned,) = asyncio.run(plan())
    assert planned.error == f"{tmp_path}/nowhere is not a folder"
    assert not (tmp_path / "ran").exists()


def test_a_time_limit_bounds_the_planning_of_a_sweep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run_limits, "PLANNING_S", 0.01)
    repository(tmp_path / "shop")
    file = write(tmp_path, {"repos.yaml": "repositories: [shop]\n"}) / "repos.yaml"
    run = RunOptions(
        request=RunRequest(operations=("lint",)), flags={}, max_time=0.001, dry_run=True
    )
    with pytest.raises(UsageError, match=r"planning took longer than 0\.01 s"):
        start_sweep(Options(root=None), file, run, full=False)
