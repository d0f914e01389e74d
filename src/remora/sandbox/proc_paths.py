"""Paths in another process's view of the files: `/proc/PID/root` leads there, for us alone."""

import os
import re
from pathlib import Path

_VIEW = re.compile(r"(/proc/(\d+)/root)(/.*)")


def path_in_view(process: int, path: Path) -> Path:
    """How we get to a path, real and absolute, that a process of ours sees."""
    return Path(f"/proc/{process}/root{path}")


def split_view(path: str) -> tuple[int, str, str]:
    """The process whose view an absolute path is in (0: ours), how we get there, and the path as
    that process has it."""
    found = _VIEW.fullmatch(path)
    return (int(found[2]), found[1], found[3]) if found else (0, "", path)


def path_for_command(path: Path) -> Path:
    """The real path as a command has it that works there: what it names its files by."""
    view, _, inside = split_view(os.path.abspath(path))  # noqa: PTH100 - keeps the view
    return Path(inside) if view else path.resolve()
