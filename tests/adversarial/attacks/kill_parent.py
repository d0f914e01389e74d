"""Our own parent, again and again: whoever it is, the run ends as it should."""

import os
import signal


def test_the_parent_and_its_group() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(os.getppid() or 1, number)
        except OSError:
            continue
