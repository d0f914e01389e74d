"""Removal of files that a project's runs no longer need."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from remora.errors import Conflict, DiskError, OutsideError
from remora.files.file_lock import try_lock
from remora.files.git import git_output
from remora.files.walk import RESERVED_FOLDERS, is_dependency_folder
from remora.rmtree import remove_tree
from remora.runs.project import Project, ProjectRecords, root_name
from remora.runs.retention.inventory import Inventory, take_inventory
from remora.runs.retention.old_records import old_records
from remora.runs.retention.removable import Removable, Removal, folder_removal
from remora.runs.retention.retention_rules import limits_of
from remora.runs.retention.unused_copies import GRACE_S, idle_bases
from remora.trace.read.reader import is_being_written, last_event
from remora.workspaces.apply.journal import JournalFolder
from remora.workspaces.commit_files import PINS, unpin_commit
from remora.workspaces.rooted_files import RootedFiles

EVALUATIONS, LOCK = "eval", "lock"
"""The folder of `remora eval` in a project's cache, and its lock file."""


def find_removable(
    project: Project, now: datetime, older_than: int | None
) -> tuple[list[Removal], tuple[tuple[str, str], ...]]:
    """Return the items that can be removed, and the runs that must be kept, with the reasons.

    Runs are only removed if their last event is `older_than` days old. Nothing is changed.
    """
    found = take_inventory(project.trace, now)
    limits = limits_of(project.config.runner.memory.retention)._replace(remove=older_than)
    # a database has its own removal
    acts = [] if project.trace.is_copy else [*old_records(project, found, limits, now)]
    acts += [*_find_copies(project), *_find_bases(project, now)]
    acts += [
        *_find_refs(project, found, now),
        *find_kept_versions(project.root, project.state / "journal"),
    ]
    return acts, tuple((run.run_id, run.hands_off) for run in found.runs if run.hands_off)


def _find_copies(project: Project) -> Iterator[Removal]:
    """Yield private copies, and copies and results of `remora eval`, that are not in use.

    The next run or the same evaluation creates them again.
    """
    slots, evaluations = project.cache / "slots", project.cache / EVALUATIONS
    locks = {lock.with_suffix(""): lock for lock in sorted(slots.glob("*.lock"))}
    for place, lock in (locks | {evaluations: evaluations / LOCK}).items():
        if lock.exists() and place.is_dir() and not place.is_symlink():
            with try_lock(lock) as free:
                if free:
                    yield folder_removal("workspace", place, _remove_copy, lock)


def _remove_copy(place: Path, lock: Path) -> None:
    with try_lock(lock) as free:
        if not free:
            raise DiskError("in use by another command")
        remove_tree(place)
        place.with_suffix(".index").unlink(missing_ok=True)


def _find_bases(project: Project, now: datetime) -> Iterator[Removal]:
    """Yield the frozen copies of runs that have finished."""
    for place in idle_bases(project, now):
        yield folder_removal("base", place, _remove_base, project, now)


def _remove_base(place: Path, project: Project, now: datetime) -> None:
    if place not in idle_bases(project, now):
        raise DiskError("in use by a run")
    remove_tree(place)


def _find_refs(project: ProjectRecords, found: Inventory, now: datetime) -> Iterator[Removal]:
    """Yield git refs that preserve the commits of this project's finished or missing runs.

    A missing run that is young may have started since the runs were listed.
    """
    own = root_name(project.root)
    needed = {run.run_id for run in found.runs if run.hands_off}
    over = {run.run_id: run.last for run in found.runs if not run.hands_off}
    young = f"{now - timedelta(seconds=GRACE_S):%Y%m%d-%H%M%S}"  # run IDs begin with their time
    refs: list[str] = []
    with suppress(OutsideError):  # without git no commits are kept
        output = git_output(project.root, "for-each-ref", "--format=%(refname)", PINS)
        refs = output.decode("utf-8", "replace").split()
    for ref in refs:
        owner, _, run_id = ref.removeprefix(PINS).rpartition("/")
        if run_id in over or (owner == own and run_id not in needed and run_id < young):
            what = Removable(kind="ref", name=ref)
            yield what, partial(_remove_ref, project, run_id, over.get(run_id))


def _remove_ref(project: ProjectRecords, run_id: str, last: datetime | None) -> None:
    """Remove the ref of a run that is missing, or whose last event is still the same."""
    own = project.trace.find_run(run_id)
    if own is not None:
        event = None if is_being_written(own) else last_event(own)
        if event is None or datetime.fromisoformat(event.timestamp) != last:
            raise DiskError("its run is not over")
    unpin_commit(project.root, run_id)


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
