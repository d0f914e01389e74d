"""Signals to every process there is, by number, by group, and to all at once."""

import os
import signal

from tests.adversarial.attacks.inside import PARENT, VICTIM, refused


def test_no_number_reaches_out() -> None:
    refused(os.kill, PARENT, signal.SIGKILL)
    refused(os.kill, VICTIM, signal.SIGKILL)
    ours = {os.getpid(), os.getppid(), 1}
    for pid in range(2, 70_000):
        if pid not in ours:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
    for number in (signal.SIGSTOP, signal.SIGKILL):
        os.kill(1, number)  # of our own namespace: the kernel does not let it through


def test_all_at_once() -> None:
    child = os.fork()
    if child == 0:
        os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)
