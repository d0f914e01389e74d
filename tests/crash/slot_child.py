"""A process that opens a private copy, to be killed while that is brought to the base.

    python slot_child.py ROOT BASE SLOTS STEPS    freeze ROOT in BASE, then SIGKILL itself at that step

A step is an audited act of Python's, such as a file opened, renamed or removed. Without reaching
the number it prints how many there were.
"""

import os
import signal
import sys
from pathlib import Path

from remora.files.project_files import project_files
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import take_base


class Fuse:
    """Kills this process at a step."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.seen = 0
        self.armed = False

    def step(self, *_: object) -> None:
        if self.armed:
            self.seen += 1
            if self.seen == self.steps:
                os.kill(os.getpid(), signal.SIGKILL)


def main(root: Path, frozen: Path, slots: Path, steps: int) -> None:
    fuse = Fuse(steps)
    sys.addaudithook(fuse.step)
    driver = SlotDriver(take_base(root, project_files(root), frozen), slots)
    fuse.armed = True
    with driver.open():
        fuse.armed = False
    sys.stdout.write(f"{fuse.seen}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
