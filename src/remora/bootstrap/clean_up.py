"""Files that `clean` removes: a project's leftovers and Hub database, and those of deleted
projects."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.errors import DiskError
from remora.hub.process.hub_paths import hub_paths
from remora.hub.store.orphans import is_idle, orphaned_databases
from remora.runs.project import Project
from remora.runs.retention.clean import Removable, Removal, find_removable, size_of
from remora.runs.retention.orphaned_copies import orphaned_caches
from remora.sandbox.child.rmtree import remove_tree


def cleanable(
    caller: Invocation, project: Project, now: datetime
) -> tuple[list[Removal], tuple[tuple[str, str], ...]]:
    """Return what can be removed, with how, and the runs that still need their files, with why."""
    acts, kept = find_removable(project, now)
    return [*acts, *_copies(caller, now), *_hubs(caller, project)], kept


def _copies(caller: Invocation, now: datetime) -> Iterator[Removal]:
    for place in orphaned_caches(caller.folders.cache / "roots", now):
        what = Removable(kind="workspace", name=str(place), bytes=size_of(place))
        yield what, partial(remove_tree, place)


def is_hub_in_use(caller: Invocation, project: Project) -> bool:
    """True if a process writes the project's Hub database or answers from it: `clean` keeps it."""
    db = hub_paths(caller.folders, project.root).db
    return db.exists() and not is_idle(db)


def _hubs(caller: Invocation, project: Project) -> Iterator[Removal]:
    """Yield the project's Hub database, which has source text; the next Hub query rebuilds it."""
    own = hub_paths(caller.folders, project.root).db
    places = [*orphaned_databases(caller.folders.cache / "hub")]
    if own.exists() and is_idle(own):
        places.append(own.parent)
    for place in places:
        what = Removable(kind="hub", name=str(place), bytes=size_of(place))
        yield what, partial(_remove_hub, place)


def _remove_hub(place: Path) -> None:
    if not is_idle(place / "hub.db"):
        raise DiskError("a process is using it")
    remove_tree(place)
