"""Finds what `clean` can remove: leftover files, unused clones, and Hub databases."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.errors import DiskError
from remora.hub.process.hub_paths import hub_paths
from remora.hub.store.hub_database import is_foreign, read_untouched
from remora.hub.store.owner_lock import is_lock, lock_of, owner
from remora.ids import unescape_path
from remora.rmtree import remove_tree
from remora.runs.project import Project, ProjectRecords
from remora.runs.retention.clean import find_removable
from remora.runs.retention.removable import Removal, folder_removal
from remora.runs.retention.unused_copies import orphaned_caches
from remora.workspaces.repository_cache import find_unused, remove_if_unused, repositories_folder

_DAEMON = ".daemon"


def cleanable(
    invocation: Invocation, project: Project, now: datetime, older_than: int | None = None
) -> tuple[list[Removal], tuple[tuple[str, str], ...]]:
    """Return the items that can be removed, and the runs that cannot be removed.

    Runs whose last event is `older_than` days old are an item. Each item comes with a function that
    removes it, and each run with the reason for keeping it.
    """
    acts, kept = find_removable(project, now, older_than)
    hubs = [*_find_orphaned_hubs(invocation), *_find_own_hub(invocation, project)]
    return [*acts, *_find_copies(invocation, now), *_find_clones(invocation), *hubs], kept


def _find_copies(invocation: Invocation, now: datetime) -> Iterator[Removal]:
    for place in orphaned_caches(invocation.folders.cache / "roots", now):
        yield folder_removal("workspace", place, _remove_copies, now)


def _remove_copies(place: Path, now: datetime) -> None:
    if place not in orphaned_caches(place.parent, now):
        raise DiskError("in use by a run, or its project is there again")
    remove_tree(place)


def _find_clones(invocation: Invocation) -> Iterator[Removal]:
    """Yield the clones and trees that workers no longer use."""
    folder = repositories_folder(invocation.folders.cache)
    for place in find_unused(folder):
        yield folder_removal("clone", place, remove_if_unused, folder)


def is_hub_in_use(invocation: Invocation, project: ProjectRecords) -> bool:
    """Return True if a process is using the project's Hub database. `clean` then keeps it."""
    db = hub_paths(invocation.folders, project.root).db
    return db.exists() and not _is_idle(db)


def _find_orphaned_hubs(invocation: Invocation) -> Iterator[Removal]:
    """Yield the folders of idle databases whose root no longer exists."""
    with suppress(OSError):
        for place in sorted((invocation.folders.cache / "hub").iterdir()):
            root = _root_of(place / "hub.db")
            if root is not None and not os.path.lexists(root) and _is_idle(place / "hub.db"):
                yield folder_removal("hub", place, _remove_hub)


def _find_own_hub(invocation: Invocation, project: ProjectRecords) -> Iterator[Removal]:
    """Yield the removal of this project's Hub database, which contains source code.

    The next Hub query rebuilds the database.
    """
    db = hub_paths(invocation.folders, project.root).db
    if db.exists() and _is_idle(db):
        yield folder_removal("hub", db.parent, _remove_hub)


def _remove_hub(place: Path) -> None:
    if not _is_idle(place / "hub.db"):
        raise DiskError("in use by another process")
    remove_tree(place)


def _root_of(db: Path) -> Path | None:
    with suppress(OSError, sqlite3.Error):
        if db.is_symlink() or not db.is_file() or is_foreign(db):
            return None
        found = read_untouched(db, "SELECT value FROM meta WHERE name = 'root'")
        return Path(unescape_path(found[0][0])) if found else None
    return None


def _is_idle(db: Path) -> bool:
    """Return True if neither a writer nor a daemon is using the database. Nothing is written."""
    locks = (lock_of(db), db.with_name(db.name + _DAEMON))
    return all(
        not os.path.lexists(lock) or (is_lock(lock) and owner(lock) is None) for lock in locks
    )
