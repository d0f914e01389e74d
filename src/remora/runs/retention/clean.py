"""Removal of files that a project's runs no longer need."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from remora.errors import DiskError, OutsideError
from remora.files.file_lock import try_lock
from remora.files.git import git_output
from remora.rmtree import remove_tree
from remora.runs.project import Project, ProjectRecords, root_name
from remora.runs.retention.inventory import Inventory, take_inventory
from remora.runs.retention.kept_versions import find_kept_versions
from remora.runs.retention.old_records import old_records
from remora.runs.retention.removable import Removable, Removal, folder_removal
from remora.runs.retention.retention_rules import limits_of
from remora.runs.retention.unused_copies import GRACE_S, idle_bases
from remora.trace.read.reader import is_being_written, last_event
from remora.workspaces.commit_files import PINS, unpin_commit

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
