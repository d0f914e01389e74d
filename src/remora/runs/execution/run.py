"""A run, the files that its agents start from, and its observer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Protocol

from remora.agents.definition.agent import Agent
from remora.agents.inputs.hub_pull import NodeFacts
from remora.agents.job import AgentResult, Job
from remora.agents.loop.lost_jobs import LostJobs
from remora.memory.events import Event
from remora.models.protocol import Model
from remora.runs.execution.engine import LocalEngine, Work, make_shards
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.planning.plan import Plan
from remora.runs.records.run_stream import RunStream
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot

LARGER = "role:larger"
"""Key in `Run.models` of the model to escalate to."""


class RunObserver(Protocol):
    def planned(self, run_id: str, plan: Plan) -> None:
        """Called when the run begins."""

    def began(self, job: Job) -> None:
        """Called when a job begins."""

    def event(self, job: Job, event: Event) -> None:
        """Called after an event has been written to a job's stream."""

    def ended(self, job: Job, result: AgentResult) -> None:
        """Called when a job has ended."""

    def judging(self, gate: str) -> None:
        """Called when a check of the project, such as its tests, begins to judge the changes."""


class NoObserver:
    """An observer that does nothing."""

    def planned(self, run_id: str, plan: Plan) -> None: ...
    def began(self, job: Job) -> None: ...
    def event(self, job: Job, event: Event) -> None: ...
    def ended(self, job: Job, result: AgentResult) -> None: ...
    def judging(self, gate: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Run:
    """A prepared run that has everything its jobs need.

    `models` maps model names to connected models. `settings` is the configuration recorded in the
    run's stream: its `model_name` is used for agents that do not name a model.
    """

    prepared: PreparedRun
    models: Mapping[str, Model]
    facts: NodeFacts
    settings: Mapping[str, Any]
    observer: RunObserver
    clock: Callable[[], datetime]
    lost_jobs: LostJobs = field(default_factory=LostJobs)
    judge: "Callable[[Run, RunStream, BaseFiles], None] | None" = None
    """Judges all change sets of a run together, and records it, before the run ends."""

    async def work_off(self, jobs: Sequence[Job], work: Work) -> None:
        """Call `work` for each job in this process. Raises whatever `LocalEngine.run` raises."""
        async for _ in LocalEngine(work, self.concurrency).run(make_shards(jobs)):
            pass

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent jobs in this process."""
        request, config = self.prepared.request, self.prepared.project.config
        return request.concurrency or config.model.max_concurrency

    @property
    def model_name(self) -> str:
        """Name of the model of agents that do not name another one."""
        return str(self.settings["model_name"])

    def model(self, agent: Agent, recorded: str | None = None) -> Model:
        """Return the model for an agent.

        `recorded` is the model name in the stream of a resumed agent.
        """
        return self.models[recorded or agent.definition.model or self.settings["model_name"]]


@dataclass(frozen=True, kw_only=True)
class BaseFiles:
    """The files that an agent starts from, and a driver that makes private copies of them.

    `ruff` checks the files of the base and of its copies. `rebased` contains the files that differ
    from the run's recorded base, as `{path: {sha256, mode}}`.
    """

    base: BaseSnapshot
    workspaces: SlotDriver
    ruff: RuffBase
    rebased: Mapping[str, Any] = field(default_factory=dict)
    _known: dict[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    @cached_property
    def place(self) -> ToolTree:
        """The base for tools."""
        return ToolTree(self.base.folder, ruff=partial(Ruff, base=self.ruff))

    def findings(self, path: str) -> list[dict[str, Any]]:
        """Return the ruff findings for a file of the base. Raises HostError if ruff fails."""
        if path not in self._known:
            self._known[path] = self.place.ruff.check_file(path)
        return self._known[path]
