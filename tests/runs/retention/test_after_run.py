"""Retention after runs: when a pass takes place, what it keeps, and that it never raises."""

import os
import subprocess
import sys
import textwrap
from datetime import timedelta

import pytest

from remora.files.file_lock import try_lock
from remora.runs.provenance import known_head
from remora.runs.retention.old_records import Retained, retain_after_run
from remora.trace.removal import read_expired
from remora.trace.trace_folder import stream_id
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import UNUSED, Desk
from tests.runs.retention.test_old_records import after, files, project_with

NOTHING = Retained()


@pytest.fixture
def reviewed(ran: Desk) -> Desk:
    """`SHOP` after a run of which everything was accepted."""
    accept(ran.newest, root=ran.project, every=True)
    return ran


@pytest.fixture
def two(reviewed: Desk) -> tuple[Desk, str, str]:
    """A second run, whose changes wait."""
    old = reviewed.newest
    reviewed.write({"a.py": UNUSED})
    return reviewed, old, reviewed.analyze()


def runs(desk: Desk) -> set[str]:
    return {stream_id(path) for path in desk.project.trace.run_streams()}


@pytest.mark.slow
def test_without_the_setting_nothing_is_done(two: tuple[Desk, str, str]) -> None:
    desk, _, young = two
    before = files(desk)
    assert retain_after_run(project_with(desk, keep_days=0), young, after(400)) == NOTHING
    assert files(desk) == before
    assert not (desk.project.state / "retention.json").exists()


@pytest.mark.slow
def test_an_old_run_goes_and_a_run_that_waits_stays(two: tuple[Desk, str, str]) -> None:
    desk, old, young = two
    done = retain_after_run(project_with(desk, after_runs=True), "another", after(31))
    assert (done.runs, done.problems) == (1, ())
    assert done.bytes > 0
    assert runs(desk) == {young}
    assert {entry.run_id for entry in read_expired(desk.project.trace)} == {old}
    assert desk.problems() == []


@pytest.mark.timeout(30)
def test_an_unfinished_file_of_a_killed_compression_goes(reviewed: Desk) -> None:
    left = reviewed.project.trace.traces / ".lint-x.jsonl.zst-0123abcd~"
    left.write_bytes(b"half")
    project = project_with(reviewed, after_runs=True, compress_after_days=None)
    done = retain_after_run(project, reviewed.newest, after(1.5))
    assert (done.bytes, done.problems) == (4, ())
    assert not left.exists()


def test_the_run_that_has_just_ended_stays(reviewed: Desk) -> None:
    project = project_with(reviewed, after_runs=True, keep_days=0)
    before = files(reviewed)
    assert retain_after_run(project, reviewed.newest, after(1)) == NOTHING
    assert files(reviewed) == before


def test_a_second_pass_waits_a_day(two: tuple[Desk, str, str]) -> None:
    desk, _, young = two
    project, start = project_with(desk, after_runs=True), after(29)
    assert retain_after_run(project, young, start).runs == 0
    almost = start + timedelta(hours=23)
    accept(young, root=desk.project, every=True)
    old_enough = project_with(desk, after_runs=True, keep_days=1)
    assert retain_after_run(old_enough, young, almost) == NOTHING
    assert retain_after_run(old_enough, young, start + timedelta(days=1)).runs == 1


@pytest.mark.slow
def test_a_clock_that_was_set_back_does_not_stop_it(two: tuple[Desk, str, str]) -> None:
    desk, _, young = two
    retain_after_run(project_with(desk, after_runs=True, keep_days=None), young, after(900))
    assert retain_after_run(project_with(desk, after_runs=True), young, after(31)).runs == 1


@pytest.mark.slow
def test_another_pass_is_not_a_problem(two: tuple[Desk, str, str]) -> None:
    desk, old, young = two
    project = project_with(desk, after_runs=True)
    with try_lock(desk.project.trace.path):
        assert retain_after_run(project, young, after(31)) == NOTHING
    assert old in runs(desk)
    assert retain_after_run(project, young, after(31)).runs == 1


@pytest.mark.slow
def test_a_failure_is_reported_and_tried_again_after_a_day(two: tuple[Desk, str, str]) -> None:
    desk, old, young = two
    log = desk.project.trace.path / "expired.jsonl"
    log.write_text("not a record\n")
    project = project_with(desk, after_runs=True)
    (problem,) = retain_after_run(project, young, after(31)).problems
    assert "expired.jsonl" in problem
    assert retain_after_run(project, young, after(31)) == NOTHING
    log.unlink()
    assert runs(desk) == {old, young}
    assert retain_after_run(project, young, after(33)).runs == 1


KILLED = """
    import os, signal, sys
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    from remora.bootstrap.invocation import Invocation
    from remora.bootstrap.open_project import open_project
    from remora.runs.retention import old_records
    from remora.runs.retention.old_records import Retained, retain_after_run

    root, home, young, left = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    remove = old_records.remove_stream

    def killed(path):
        global left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        remove(path)

    old_records.remove_stream = killed
    flags = {"runner.memory.retention.after_runs": True}
    project = open_project(
        Invocation(environ={"HOME": home}, folder=root, root=root, flags=flags)
    )
    retain_after_run(project, young, datetime.now(UTC) + timedelta(days=31))
    """


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 2])
def test_a_kill_loses_nothing_and_the_next_run_completes_it(
    two: tuple[Desk, str, str], left: int
) -> None:
    desk, old, young = two
    kept = {name: data for name, data in files(desk).items() if young in name}
    done = subprocess.run(
        [
            sys.executable, "-c", textwrap.dedent(KILLED),
            desk.root, desk.home, young, str(left),
        ],
        check=False, capture_output=True, text=True, env={**os.environ, "HOME": str(desk.home)},
    )  # fmt: skip
    assert done.returncode == -9, done.stderr
    assert old in runs(desk)
    assert known_head(desk.project.state, old).count
    project = project_with(desk, after_runs=True)
    assert retain_after_run(project, young, after(31)).runs == 1
    assert runs(desk) == {young}
    assert {entry.run_id for entry in read_expired(desk.project.trace)} == {old}
    assert {n: d for n, d in files(desk).items() if young in n} == kept
    assert not known_head(desk.project.state, old).count
    assert desk.problems() == []
