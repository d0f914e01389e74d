"""kill -9 in every turn, and each time the run comes to what it would have come to."""

import os
from pathlib import Path
from typing import Any

import pytest

from remora.memory.events import RunEnd
from remora.runs.records.run_listing import list_run_lines
from remora.trace.verify.folder_check import verify_all
from tests.forked_process import warm
from tests.runs.conftest import RULES, TEN_TURNS, Desk
from tests.runs.killed_child import RUN

CHILD = Path(__file__).parent / "killed_child.py"
NEVER = 10**9
FILES = {"a.py": TEN_TURNS, "ruff.toml": RULES}


def run(desk: Desk, what: str, kind: str = "any", number: int = NEVER) -> int:
    """The process's exit status; -9 where it was killed."""
    line = [str(word) for word in (CHILD, desk.home, desk.root, what, kind, number)]
    err = desk.folder / "err"
    status = warm().run(line, cwd=desk.root, environ=os.environ, out=desk.folder / "out", err=err)
    assert status in (0, -9), err.read_text()
    return status


def shop(folder: Path, files: dict[str, str] = FILES) -> Desk:
    desk = Desk(folder)
    desk.write(files)
    return desk


def came_to(desk: Desk) -> list[tuple[Any, ...]]:
    view = desk.view(RUN)
    assert view.status == "ended"
    assert verify_all(desk.project.trace).ok
    return [
        (job.node_id, job.status, job.counts.turns, job.proposal.sha256, job.counts.decided_by)
        for job in view.jobs
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """What the run comes to that nobody kills."""
    desk = shop(tmp_path_factory.mktemp("whole"))
    assert run(desk, "analyze") == 0
    found = came_to(desk)
    assert [(job[1], job[2]) for job in found] == [("verified", 10)]
    return found


def is_sound_but_interrupted(desk: Desk) -> None:
    """What holds of the records after a kill."""
    streams = verify_all(desk.project.trace).streams
    assert {problem.kind for stream in streams for problem in stream.problems} <= {"torn_tail"}
    (listed,) = list_run_lines(desk.project.trace)
    assert (listed.run_id, listed.status) == (RUN, "interrupted")
    assert desk.payloads(RUN, RunEnd) == []
    assert {job.status for job in desk.view(RUN).jobs} <= {"interrupted", "verified"}


@pytest.mark.parametrize(
    ("kind", "turn"),
    [
        ("tool_call", 6),
        pytest.param("agent_start", 1, marks=pytest.mark.slow),
        pytest.param("agent_end", 1, marks=pytest.mark.slow),
        pytest.param("turn_start", 4, marks=pytest.mark.slow),
        pytest.param("model_response", 3, marks=pytest.mark.slow),
    ],
)
def test_in_some_turns(tmp_path: Path, whole: list[tuple[Any, ...]], kind: str, turn: int) -> None:
    desk = shop(tmp_path)
    before = desk.tree()
    assert run(desk, "analyze", kind, turn) == -9
    assert desk.tree() == before
    is_sound_but_interrupted(desk)
    assert run(desk, "resume") == 0
    assert came_to(desk) == whole


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_in_each_turn_of_one_run(tmp_path: Path, whole: list[tuple[Any, ...]]) -> None:
    """And killed again as it goes on: eleven processes for ten turns."""
    desk = shop(tmp_path)
    kills = 0
    status = run(desk, "analyze", "tool_result", 1)
    while status == -9:
        kills += 1
        # what was recorded is told again to who watches: one result more each time
        status = run(desk, "resume", "tool_result", kills + 1)
    assert kills == 10
    assert came_to(desk) == whole
