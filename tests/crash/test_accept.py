"""kill -9 in the middle of an accept, at many points: the next command completes it."""

import shutil
from collections.abc import Iterable

import pytest

from remora.runs.review.journals import complete_journals
from remora.runs.review.review import accept
from tests.crash.conftest import run
from tests.runs.conftest import RULES, UNUSED, Desk

MARKS = {"__module__": b"import os", "load": b"import re"}


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """A run whose change sets wait, kept aside to begin from again and again."""
    desk.write({"a.py": UNUSED, "b.py": UNUSED, "ruff.toml": RULES})
    desk.analyze()
    for folder in (desk.root, desk.home):
        shutil.copytree(folder, desk.folder / f"kept-{folder.name}", symlinks=True)
    return desk


def begin_again(desk: Desk) -> None:
    for folder in (desk.root, desk.home):
        shutil.rmtree(folder)
        shutil.copytree(desk.folder / f"kept-{folder.name}", folder, symlinks=True)


def kill_at(desk: Desk, steps: Iterable[int], final: dict[str, bytes]) -> None:
    for step in steps:
        begin_again(desk)
        status, _ = run(desk, "accept", step)
        assert status == -9, f"step {step}"
        desk.come_back()
        project = desk.project
        complete_journals(project)
        assert complete_journals(project).outcome == "none", "once is enough"
        (run_id,) = (path.stem for path in project.trace.run_streams())
        for job in desk.view(run_id).jobs:
            path, _, name = job.node_id.removeprefix("node:").partition(":")
            done = MARKS[name] not in (desk.root / path).read_bytes()
            assert done is (job.review == "accepted"), f"step {step}: {job.node_id}"
        accept(project, run_id, [], every=True)
        assert desk.tree() == final, f"step {step}"
        assert desk.problems() == [], f"step {step}"


def uninterrupted(desk: Desk) -> tuple[int, dict[str, bytes]]:
    """How many steps there are, and what the tree is in the end."""
    begin_again(desk)
    status, (steps,) = run(desk, "accept", 10**9)
    assert status == 0
    return int(steps), desk.tree()


@pytest.mark.slow
def test_at_a_few_points(shop: Desk) -> None:
    steps, final = uninterrupted(shop)
    kill_at(shop, (steps // 5, steps // 2, steps * 4 // 5), final)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_at_many_points(shop: Desk) -> None:
    steps, final = uninterrupted(shop)
    kill_at(shop, range(2, steps, max(1, steps // 60)), final)
