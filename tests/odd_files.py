"""What a hostile project has in the place of a text file: reading it would wait, or fill memory."""

import os
from collections.abc import Callable
from pathlib import Path

HUGE = 2 << 30


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE)


ODD: tuple[Callable[[Path], None], ...] = (_pipe, _link_to_pipe, _endless, _huge)
