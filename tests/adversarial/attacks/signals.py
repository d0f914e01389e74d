"""Signals to a process outside."""

import os
import signal

from tests.adversarial.attacks.inside import PARENT, VICTIM, refused


def test_none_arrives() -> None:
    for pid in (VICTIM, PARENT):
        for number in (0, signal.SIGSTOP, signal.SIGKILL):
            refused(os.kill, pid, number)
