"""A planned run whose models, facts and observer are not yet connected."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from remora.agents.definition.agent import Agent
from remora.agents.inputs.hub_pull import NodeFacts
from remora.rmtree import try_remove_tree
from remora.runs.execution.engine import RemoteWorkers
from remora.runs.planning.plan import Plan
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.workspaces.copy.snapshot import BaseSnapshot


class FactSource(Protocol):
    """Provides agents with facts about nodes."""

    def opened(self, nodes: Iterable[str] = ()) -> AbstractAsyncContextManager[NodeFacts]:
        """Open the source of node facts for agents that will work on `nodes`.

        Raises OutsideError if the configuration requires a hub and the hub is not running.
        """


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A planned or resumed run that can be started.

    `base` is the snapshot that a new run starts from, and `ruff` checks its files; both are None
    for a resumed run. `python` is the interpreter for agents that run the project's code, or None.
    Jobs run in this process if there are no `workers`.
    """

    run_id: str
    project: Project
    request: RunRequest
    plan: Plan
    agents: Mapping[str, Agent]
    source: FactSource
    base: BaseSnapshot | None
    ruff: RuffBase | None
    python: ProjectPython | None
    workers: RemoteWorkers | None = None

    @property
    def planned_agents(self) -> tuple[Agent, ...]:
        """The agents that have jobs."""
        return tuple(self.agents[name] for name in {job.operation for job in self.plan.jobs})

    def close(self) -> None:
        """Remove the frozen copy of the project, and end the processes that check its files."""
        if self.ruff is not None:
            self.ruff.close()
        if self.base is not None:
            try_remove_tree(self.base.folder)
