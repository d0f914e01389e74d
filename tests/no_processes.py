"""The promise of `make quick`: a test starts no process and connects to nothing."""

import sys

import pytest

_STARTS = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
    "socket.connect",
    "subprocess.Popen",
}
"""Audit events. A socket of this machine, which tests of servers use, is a connection too."""


def refuse_processes() -> None:
    """From now on, fail whatever starts a process or connects, in this process."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event in _STARTS:
        pytest.fail(f"`make quick` runs no test with {event}{arguments!r}; mark it as `process`")
