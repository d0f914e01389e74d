"""Earlier file versions that `accept` left next to the user's files after a conflict."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from remora.errors import Conflict, DiskError
from remora.files.walk import RESERVED_FOLDERS, is_dependency_folder
from remora.workspaces.apply.journal import JournalFolder
from remora.workspaces.rooted_files import RootedFiles

_NAME = re.compile(r"\.remora-([0-9a-f]{16})(?:-\d+(?:-part|-trial|~)?)?")


def conflict_files(root: Path, journal: Path) -> Iterator[tuple[str, int, Callable[[], None]]]:
    """Yield the path, size in bytes and removal function of each file.

    Paths are relative to the project's root. Files that a running or unfinished `accept` still
    needs are left out.
    """
    busy = _busy(journal)
    if busy is None:
        return
    for path, journal_id, size in _found(root):
        if journal_id != busy:
            yield path, size, partial(_remove, root, journal, path)


def _busy(journal: Path) -> str | None:
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


def _found(root: Path) -> Iterator[tuple[str, str, int]]:
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
