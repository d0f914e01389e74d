"""Frozen copies that killed commands left in the user's cache."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from remora.errors import RemoraError
from remora.runs.project import Project
from remora.sandbox.child.rmtree import try_remove_tree
from remora.trace.read.reader import RUNNING, stream_status

_APART = "~"
GRACE_S = 3600
"""A copy younger than this may belong to a command that has not begun its run yet."""


def remove_leftovers(project: Project, now: datetime) -> list[str]:
    """Remove the frozen copies of runs that are over; returns their ids. Never raises."""
    idle = idle_bases(project, now)
    for folder in idle:
        try_remove_tree(folder)
    return [folder.name for folder in idle]


def idle_bases(project: Project, now: datetime) -> list[Path]:
    """The frozen copies that no run works on, and no command can be about to. Never raises."""
    with suppress(OSError):
        return [
            folder
            for folder in sorted((project.cache / "bases").iterdir())
            if now.timestamp() - folder.stat().st_mtime > GRACE_S and not _is_live(project, folder)
        ]
    return []


def _is_live(project: Project, folder: Path) -> bool:
    run_id = folder.name.partition(_APART)[0]  # a file that moved on has a copy of its own
    try:
        return stream_status(project.trace.run_stream(run_id)) == RUNNING
    except RemoraError:  # it never began, or its records are gone
        return False
