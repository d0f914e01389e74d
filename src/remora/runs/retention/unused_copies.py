"""Copies of projects in the user's cache that no command uses any more."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import RemoraError
from remora.files.file_lock import try_lock
from remora.regular_file import replace_file
from remora.rmtree import try_remove_tree
from remora.runs.project import Project, ProjectRecords, root_name
from remora.statuses import RUNNING
from remora.trace.read.reader import stream_status

GRACE_S = 3600
"""Minimum age of a copy to remove, in seconds. Younger ones may belong to a starting run."""
_NOTE = "root"
"""The file in the folder of a project's copies with the path of the project."""
_LONGEST_PATH = 4096
"""Bytes of a path, as limited by Linux."""


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
    run_id = folder.name.partition("~")[0]  # the suffix numbers the run's further copies
    try:
        return stream_status(project.trace.existing_run(run_id)) == RUNNING
    except RemoraError:  # it never started, or its records were removed
        return False


def record_project_path(project: Project) -> None:
    """Record the path of a project in the folder that contains its copies. Never raises.

    The path cannot be derived from the name of that folder.
    """
    note = project.cache / _NOTE
    with suppress(OSError):
        if not note.exists():
            make_private(project.cache)
            replace_file(note, os.fsencode(project.root.resolve()))


def orphaned_caches(roots: Path, now: datetime) -> Iterator[Path]:
    """Yield the folders in `roots` whose project no longer exists.

    Folders that are in use by a run, or that do not record a project path, are skipped.
    """
    for place in sorted(roots.iterdir()) if roots.is_dir() else ():
        root = _root_of(place)
        if root is not None and not os.path.lexists(root) and _is_idle(place, now):
            yield place


def _root_of(place: Path) -> Path | None:
    """Return the project path recorded in a folder, or None if it is missing or invalid."""
    note = place / _NOTE
    with suppress(OSError, ValueError):
        if place.is_symlink() or note.is_symlink() or note.stat().st_size > _LONGEST_PATH:
            return None
        root = Path(os.fsdecode(note.read_bytes()))
        return root if root.is_absolute() and root_name(root) == place.name else None
    return None


def _is_idle(place: Path, now: datetime) -> bool:
    young = now.timestamp() - GRACE_S
    with suppress(OSError), ExitStack() as stack:
        if any(base.stat().st_mtime > young for base in (place / "bases").glob("*")):
            return False
        locks = sorted((place / "slots").glob("*.lock"))
        return all(stack.enter_context(try_lock(lock)) for lock in locks)
    return False
