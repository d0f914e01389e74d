"""Fifty changes are reviewed while the review is killed again and again: no verdict is lost or
doubled, and the files are what the verdicts say."""

import random
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import step_agent
from tests.cli.four_changes import UNUSED, Four
from tests.cli.review.terminal import ASK, Terminal
from tests.cli.review.test_review_session import Desk

_FILES = [f"m{number:02}.py" for number in range(25)]
_END = "That was the last change|no verdicts"


def wanted(node: str) -> str:
    """The key for a change set: those of every third file are rejected."""
    return "n" if int(re.findall(r"\d+", node)[0]) % 3 == 1 else "y"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    settings = "[tool.ruff.lint]\nselect=['F']\n"
    own = {**dict.fromkeys(_FILES, UNUSED), "pyproject.toml": settings, **step_agent()}
    fifty = Four(tmp_path, own)
    return Desk(fifty.remora, fifty.root)


def decide_some(terminal: Terminal, moments: random.Random) -> bool:
    """Decide until nothing is left, or until the process is killed. Return True at the end."""
    while True:
        seen = terminal.sees(f"{ASK}|{_END}")
        heading = re.search(r"\[\d+/\d+\] steps (\S+)", seen)
        if heading is None:
            return True
        key = wanted(heading[1])
        terminal.press(key)
        if key == "n":
            terminal.types("not now")
        if moments.random() < 0.2:
            time.sleep(moments.random() * 0.3)
            terminal.process.kill()
            terminal.process.wait()
            return False


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_verdict_is_lost_or_doubled(desk: Desk, seed: int) -> None:
    moments, kills = random.Random(seed), 0
    assert desk.states == ["pending"] * 50
    done = False
    while not done:
        with desk.review() as terminal:
            done = decide_some(terminal, moments)
        kills += not done
    assert kills >= 5
    verdicts = Counter(event["data"]["agent_id"] for event in desk.reviews)
    assert (len(verdicts), set(verdicts.values())) == (50, {1})
    assert desk.states == [
        {"y": "accepted", "n": "rejected"}[wanted(name)] for name in _FILES for _ in range(2)
    ]
    fixed = UNUSED.replace("import os\n", "").replace("    import re\n", "")
    for name in _FILES:
        assert desk.text(name) == {"y": fixed, "n": UNUSED}[wanted(name)]
    assert desk.remora("trace", "verify", "--all", cwd=desk.root).code == 0
