"""Frozen copies that killed commands left in the user's cache."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from remora.errors import RemoraError
from remora.rmtree import try_remove_tree
from remora.runs.project import Project, ProjectRecords
from remora.statuses import RUNNING
from remora.trace.read.reader import stream_status

_APART = "~"
GRACE_S = 3600
"""Minimum age of a copy to remove, in seconds. Younger ones may belong to a starting run."""


def remove_idle_bases(project: Project, now: datetime) -> None:
    """Remove the frozen copies that no run is using. Never raises."""
    for folder in idle_bases(project, now):
        try_remove_tree(folder)


def idle_bases(project: Project, now: datetime) -> list[Path]:
    """Return the frozen copies that no run is using. Never raises.

    Recent copies are left out, because a run that is starting may be about to use them.
    """
    with suppress(OSError):
        return [
            folder
            for folder in sorted((project.cache / "bases").iterdir())
            if now.timestamp() - folder.stat().st_mtime > GRACE_S and not _is_live(project, folder)
        ]
    return []


def _is_live(project: ProjectRecords, folder: Path) -> bool:
    run_id = folder.name.partition(_APART)[0]  # the suffix numbers the run's further copies
    try:
        return stream_status(project.trace.existing_run(run_id)) == RUNNING
    except RemoraError:  # it never started, or its records were removed
        return False
