"""Processes that are killed, and what is left of them."""

import os
import subprocess
import sys
import time
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


def descendants(pid: int) -> dict[int, str]:
    """Processes below `pid`, with the time at which each began: pids are used again."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _fields(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = {}, [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            if fields := _fields(child):
                found[child] = fields[19]
                waiting.append(child)
    return found


def still_there(processes: dict[int, str]) -> list[int]:
    return [
        pid
        for pid, began in processes.items()
        if (fields := _fields(pid)) and fields[19] == began and fields[0] not in "ZX"
    ]


def gone_within(processes: dict[int, str], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while still_there(processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _fields(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from the state on; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A user at an empty project."""
    return Desk(tmp_path)
