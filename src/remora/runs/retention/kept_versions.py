"""Versions of the user's files that `accept` kept because they were edited at the same time."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from remora.errors import Conflict, DiskError
from remora.files.walk import RESERVED_FOLDERS, is_dependency_folder
from remora.runs.retention.removable import Removable, Removal
from remora.workspaces.apply.journal import JournalFolder
from remora.workspaces.rooted_files import RootedFiles

_NAME = re.compile(r"\.remora-([0-9a-f]{16})(?:-\d+(?:-part|-trial|~)?)?")
"""The name that `workspaces.apply` gives such a file, with the ID of its journal."""


def find_kept_versions(root: Path, journal: Path) -> Iterator[Removal]:
    """Yield the earlier versions that `accept` has kept of files that were edited at the same time.

    Those that a running or unfinished `accept` still needs are left out.
    """
    busy = _journal_in_use(journal)
    for path, journal_id, size in _find_files(root) if busy is not None else ():
        if journal_id != busy:
            what = Removable(kind="conflict", name=path, bytes=size)
            yield what, partial(_remove, root, journal, path)


def _journal_in_use(journal: Path) -> str | None:
    """Return the ID of a leftover journal, or an empty string if there is no journal.

    Returns None if the journal is in use or damaged.
    """
    store = JournalFolder(journal)
    try:
        with store.locked():
            left = store.read()
    except (Conflict, DiskError):
        return None
    return left.id if left is not None else ""


def _find_files(root: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the paths of kept versions, the journal that each belongs to, and their sizes."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with suppress(OSError), os.scandir(root / prefix) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    skipped = entry.name in RESERVED_FOLDERS or is_dependency_folder(root, path)
                    waiting += [] if skipped else [path + "/"]
                elif (name := _NAME.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                    yield path, name[1], entry.stat(follow_symlinks=False).st_blocks * 512


def _remove(root: Path, journal: Path, path: str) -> None:
    with JournalFolder(journal).locked():
        RootedFiles(root).remove(path)
