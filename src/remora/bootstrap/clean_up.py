"""All that can be freed: what the project's runs left, and copies and databases of roots that are gone."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from remora.bootstrap.invocation import Caller
from remora.hub.store.orphans import gone_databases
from remora.runs.project import Project
from remora.runs.retention.clean import Act, Removable, removables, size_of
from remora.runs.retention.orphaned_copies import gone_caches
from remora.sandbox.child.rmtree import remove_tree


def cleanable(
    caller: Caller, project: Project, now: datetime
) -> tuple[list[Act], tuple[tuple[str, str], ...]]:
    """What can go, with how, and the runs that still need what is theirs, with why."""
    acts, kept = removables(project, now)
    return [*acts, *_copies(caller, now), *_hubs(caller)], kept


def _copies(caller: Caller, now: datetime) -> Iterator[Act]:
    for place in gone_caches(caller.folders.cache / "roots", now):
        what = Removable(kind="workspace", name=str(place), bytes=size_of(place))
        yield what, partial(remove_tree, place)


def _hubs(caller: Caller) -> Iterator[Act]:
    for place in gone_databases(caller.folders.cache / "hub"):
        what = Removable(kind="hub", name=str(place), bytes=size_of(place))
        yield what, partial(remove_tree, place)
