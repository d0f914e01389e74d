"""Paths in the mount namespace of another process, accessed through `/proc/PID/root`."""

import os
import re
from pathlib import Path

_VIEW = re.compile(r"(/proc/(\d+)/root)(/.*)")


def path_in_view(process: int, path: Path) -> Path:
    """Return a path through which this process can access a path in another mount namespace.

    `path` is a real, absolute path in the mount namespace of `process`.
    """
    return Path(f"/proc/{process}/root{path}")


def split_view(path: str) -> tuple[int, str, str]:
    """Split an absolute path into a process ID, a prefix, and a path in that process's namespace.

    For a path in the current mount namespace, the process ID is 0 and the prefix is empty.
    """
    found = _VIEW.fullmatch(path)
    return (int(found[2]), found[1], found[3]) if found else (0, "", path)


def path_for_command(path: Path) -> Path:
    """Return the path as seen by a command that runs in the path's mount namespace."""
    view, _, inside = split_view(os.path.abspath(path))  # noqa: PTH100 - keeps the view
    return Path(inside) if view else path.resolve()
