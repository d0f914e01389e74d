"""Isolation levels that this machine offers, and processes that a run left behind."""

import os
import time
from pathlib import Path

import pytest

from remora.sandbox.isolation import level_problem
from remora.sandbox.supervisor_client import bubblewrap_path
from tests.platform_facilities import need_facility

ALL = (0, 1, 2, 3)
COMMON = (0, pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow))
"""None at all, and what most machines have; the others are for `make test-all`."""
_FACILITIES = ("Landlock", "namespaces", "overlay")
MARK = "REMORA_TEST_MARK"
"""A variable that every process of a run inherits: its number means nothing outside."""


def need(level: int) -> int:
    """Return the level if this machine has it."""
    need_facility(*_FACILITIES[:level])
    if level == 3 and not bubblewrap_path():
        pytest.skip("isolation level 3: bubblewrap is not installed")
    assert level == 0 or level_problem(level) == ""
    return level


def survivors(mark: str) -> list[int]:
    """Live processes of this machine that were started with the mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it has just ended, or is another user's
    return [pid for pid in found if pid != os.getpid()]


def wait_until_gone(mark: str, seconds: float = 20) -> None:
    """Fails if a process of the run outlives it for so long."""
    until = time.monotonic() + seconds
    while survivors(mark) and time.monotonic() < until:
        time.sleep(0.02)
    assert survivors(mark) == []
