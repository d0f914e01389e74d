"""Paths in another process's mount namespace, reached through `/proc/PID/root`."""

import os
import re
from pathlib import Path

_VIEW = re.compile(r"(/proc/(\d+)/root)(/.*)")


def path_in_view(process: int, path: Path) -> Path:
    """Return our path to a real, absolute path in a process's mount namespace."""
    return Path(f"/proc/{process}/root{path}")


def split_view(path: str) -> tuple[int, str, str]:
    """Split an absolute path into process (0: our namespace), prefix, and the process's own path."""
    found = _VIEW.fullmatch(path)
    return (int(found[2]), found[1], found[3]) if found else (0, "", path)


def path_for_command(path: Path) -> Path:
    """Return the real path by which a command running there knows this file."""
    view, _, inside = split_view(os.path.abspath(path))  # noqa: PTH100 - keeps the view
    return Path(inside) if view else path.resolve()
