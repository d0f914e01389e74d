"""Programs that give more than one has, and calls that need more."""

import os
import socket
from pathlib import Path

from tests.adversarial.attacks.inside import PROJECT, refused


def status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_nothing_is_held_and_nothing_can_be_gained() -> None:
    held = status()
    assert held["NoNewPrivs"] == "1"
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"):
        assert int(held[name], 16) == 0, name


def test_setuid_programs_are_programs() -> None:
    for folder in ("/usr", str(PROJECT), "/tmp", os.environ["TMPDIR"]):
        assert os.statvfs(folder).f_flag & os.ST_NOSUID


def test_users_cannot_be_changed() -> None:
    refused(os.setuid, os.getuid() + 1)
    refused(os.setgroups, [0])
    refused(socket.sethostname, "mine")
    refused(os.chown, PROJECT / "app.py", os.getuid() + 1, -1)
