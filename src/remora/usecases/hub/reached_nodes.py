"""Nodes that tests entered when they were observed."""

from remora.bootstrap.invocation import Invocation
from remora.errors import RemoraError
from remora.hub.process.hub_paths import hub_paths
from remora.runs.project import Project


def nodes_reached_by_tests(invocation: Invocation, project: Project) -> frozenset[str]:
    """Return the keys of the nodes that `remora hub observe` saw tests enter.

    The set is empty if the Hub has no database, or is disabled.
    """
    if project.config.hub.enabled is False:
        return frozenset()
    from remora.hub.store.reader import open_snapshot

    try:
        view = open_snapshot(hub_paths(invocation.folders, project.root).db)
        if view is None:
            return frozenset()
        try:
            return frozenset(test.node for test in view.observation().tests)
        finally:
            view.close()
    except RemoraError:
        return frozenset()
