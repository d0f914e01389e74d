"""Run-time types of the project's functions, for the agents that read them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from remora.agents.definition.agent import Agent
from remora.bootstrap.invocation import Invocation
from remora.errors import RemoraError
from remora.hub.file_limits import FileRules
from remora.hub.process.hub_paths import hub_paths
from remora.runs.project import Project


def observed_values(
    invocation: Invocation, project: Project, agents: Iterable[Agent]
) -> Mapping[str, Any]:
    """Return what `remora hub observe` saw of each unchanged function, by node key.

    The values have the fields of `ObservedValues`. The result is empty if no agent reads them, the
    Hub has no database, or it is disabled.
    """
    config = project.config
    is_read = any(function.reads_observed for agent in agents for function in agent.grants)
    if config.hub.enabled is False or not is_read:
        return {}
    from remora.hub.sources.current_nodes import CurrentNodes
    from remora.hub.store.reader import open_snapshot

    db = hub_paths(invocation.folders, project.root).db
    try:
        view = open_snapshot(db)
        if view is None:
            return {}
        try:
            keys = [each.node for each in view.observation().functions]
        finally:
            view.close()
        rules = FileRules(tuple(config.exclude), config.hub.file_limit)
        found = CurrentNodes(project.root, db, rules).observed(keys) if keys else {}
    except RemoraError:
        return {}
    return {key: msgspec.to_builtins(each) for key, each in found.items()}
