"""Processes that are killed, and what is left of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked_process import warm
from tests.runs.conftest import Desk

CHILD = Path(__file__).parent / "analyze_child.py"


def start(desk: Desk, what: str, steps: int, *more: str) -> subprocess.Popen[str]:
    """The process at its work."""
    return subprocess.Popen(
        [sys.executable, CHILD, desk.home, desk.root, what, str(steps), *more],
        stdout=subprocess.PIPE,
        text=True,
    )


def run(desk: Desk, what: str, steps: int) -> tuple[int, list[str]]:
    """Its exit status (-9: it was killed) and what it printed."""
    said = desk.folder / "said"
    line = [str(word) for word in (CHILD, desk.home, desk.root, what, steps)]
    status = warm().run(line, cwd=desk.root, environ=os.environ, out=said, err=desk.folder / "err")
    return status, said.read_text().split()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A user at an empty project."""
    return Desk(tmp_path)
