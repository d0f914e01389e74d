"""Other processes by their files in /proc: memory, root, open files."""

import os
from pathlib import Path

from tests.adversarial.attacks.inside import HOME, PARENT, VICTIM, refused


def test_those_outside_are_not_there() -> None:
    for pid in (VICTIM, PARENT):
        refused(os.stat, f"/proc/{pid}/mem")
        refused(os.listdir, f"/proc/{pid}/root")
        refused(os.pidfd_open, pid)


def test_the_first_process_leads_nowhere() -> None:
    for pid in (1, os.getppid() or 1):
        for way in ("root", "cwd"):
            refused(os.stat, f"/proc/{pid}/{way}{HOME}/.bashrc")
    names = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    assert len(names) < 20, "a /proc of our own"
