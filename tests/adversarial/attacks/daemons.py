"""Daemons with sessions of their own, which ignore every signal that can be ignored."""

import os
import signal
import time


def test_they_start_and_stay() -> None:
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        os.waitpid(child, 0)
