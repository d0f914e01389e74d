"""kill -9 in the middle of a run: nothing of the user's is touched, what was recorded is sound."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remora.memory.events import RunEnd
from remora.runs.records.run_listing import list_run_lines
from remora.trace.verify.folder_check import verify_all
from tests.crash.conftest import descendants, gone_within, run, start
from tests.runs.conftest import CHOICE, RULES, UNUSED, Desk

SHOP = {f"m{n}.py": UNUSED + "\n\n" + CHOICE for n in range(2)} | {"ruff.toml": RULES}
CHECK = Path(__file__).parents[1] / "independent" / "check_streams.py"


def sound_but_interrupted(desk: Desk, run_id: str) -> None:
    """All that holds after a kill, however it fell."""
    report = verify_all(desk.project.trace)
    problems = [(stream, p) for stream in report.streams for p in stream.problems]
    assert {problem.kind for _, problem in problems} <= {"torn_tail"}
    assert all(p.line >= stream.head.count for stream, p in problems), "at the end only"
    (listed,) = list_run_lines(desk.project.trace)
    assert (listed.run_id, listed.status) == (run_id, "interrupted")
    assert desk.payloads(run_id, RunEnd) == []
    view = desk.view(run_id)
    assert {job.status for job in view.jobs} <= {"interrupted", "verified", "no_change"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", CHECK, desk.root], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("events", [1, 14, 45])
def test_after_so_many_events(desk: Desk, events: int) -> None:
    desk.write(SHOP)
    before = desk.tree()
    status, (run_id,) = run(desk, "analyze", events)
    assert status == -9
    assert desk.tree() == before
    sound_but_interrupted(desk, run_id)


def test_without_a_kill_it_ends(desk: Desk) -> None:
    """The counterpart: the process does what it should if it may."""
    desk.write(SHOP)
    status, (run_id, events) = run(desk, "analyze", 10**9)
    assert status == 0
    assert int(events) > 45
    assert [listed.status for listed in list_run_lines(desk.project.trace)] == ["ended"]
    assert desk.view(run_id).status == "ended"
    assert desk.problems() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_at_any_moment_and_no_child_is_left(desk: Desk, seed: int) -> None:
    desk.write(SHOP)
    desk.commit()
    before = desk.tree()
    process = start(desk, "analyze", 10**9)
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    time.sleep(random.Random(seed).uniform(0, 0.4))
    children = descendants(process.pid)
    process.kill()
    process.communicate()
    assert gone_within(children, 10)
    assert desk.tree() == before
    if desk.payloads(run_id, RunEnd):  # it was killed after its last event
        assert desk.problems() == []
    else:
        sound_but_interrupted(desk, run_id)


@pytest.mark.slow
def test_with_the_real_model_no_server_is_left(desk: Desk) -> None:
    desk.write(SHOP)
    process = start(desk, "analyze", 10**9, "embedded")
    assert process.stdout is not None
    assert process.stdout.readline()
    end = time.monotonic() + 20
    while not any(b"model_server" in _command(pid) for pid in descendants(process.pid)):
        assert time.monotonic() < end, "the server never started"
        time.sleep(0.02)
    children = descendants(process.pid)
    process.kill()
    process.communicate()
    assert gone_within(children, 10)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_the_next_run_is_not_held_up(desk: Desk) -> None:
    desk.write({"a.py": UNUSED, "ruff.toml": RULES})
    run(desk, "analyze", 9)
    run_id = desk.analyze()
    assert desk.view(run_id).status == "ended"
    assert sorted(listed.status for listed in list_run_lines(desk.project.trace)) == [
        "ended", "interrupted",
    ]  # fmt: skip
