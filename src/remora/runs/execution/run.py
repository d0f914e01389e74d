"""A run: what is asked for, what is planned, what its jobs need, its files, and its observer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from remora.agents.definition.agent import Agent
from remora.agents.inputs.hub_pull import NodeFacts
from remora.agents.job import AgentResult, Job
from remora.agents.loop.lost_jobs import LostJobs
from remora.errors import UsageError
from remora.memory.events import Event
from remora.models.protocol import Model
from remora.rmtree import try_remove_tree
from remora.runs.execution.engine import RemoteWorkers, Work, run_locally
from remora.runs.planning.plan import Plan
from remora.runs.project import Project
from remora.runs.records.run_stream import RunStream
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot

if TYPE_CHECKING:
    from remora.config.schema import Config


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The choice of nodes and settings with which a run is planned, also by `check` and `judge`."""

    paths: tuple[Path, ...] = ()
    """Files and folders; none means the whole project."""
    operations: tuple[str, ...] = ()
    """Names of operations and agents; none means those that run by default."""
    node: str | None = None
    """A node by name or key, or None for all."""
    changed: str | None = None
    """A git revision, or an empty string for HEAD: only nodes that changed since. None means all."""
    keys: frozenset[str] | None = None
    """Keys to which the nodes are limited, or None."""
    max_nodes: int | None = None
    """The most nodes with jobs, or None for no limit."""
    yes: bool = False
    """True if a plan with very many jobs is confirmed."""
    concurrency: int | None = None
    """Jobs at a time, or None for the number that the model's settings allow."""
    unsafe_fixes: bool = False
    """True if fixes that ruff calls unsafe are permitted."""
    missed: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    """Functions whose tests miss faults, and the lines of these faults, by path and qualname.

    Agents add to these tests.
    """
    max_turns: int | None = None
    """The most turns of an agent, or None for the configured number."""
    seed: int | None = None
    """Seed that models are given, or None for 0."""
    engine: str = "local"
    """The engine that runs the jobs, by name."""
    by_client: bool = False
    """True if a client of the MCP server decides in place of a model."""

    def __post_init__(self) -> None:
        """Raise UsageError if a number is less than 1."""
        require_positive(
            max_nodes=self.max_nodes, concurrency=self.concurrency, max_turns=self.max_turns
        )


def require_positive(**numbers: int | None) -> None:
    """Raise UsageError for the first number that is less than 1."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise UsageError(f"{name} must be at least 1, not {number}")


def options_for(config: "Config", operation: str, request: RunRequest) -> dict[str, Any]:
    """Return the script options for an agent, taken from flags and the operation's settings."""
    configured = config.operations.get(operation)
    own = configured.model_dump(exclude={"max_turns"}, exclude_none=True) if configured else {}
    flags = {"unsafe_fixes": request.unsafe_fixes, "missed": request.missed}
    return flags | own


class FactSource(Protocol):
    """Provides agents with facts about nodes."""

    def opened(self, nodes: Iterable[str] = ()) -> AbstractAsyncContextManager[NodeFacts]:
        """Open the source of node facts for agents that will work on `nodes`.

        Raises OutsideError if the configuration requires a hub and the hub is not running.
        """


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A planned or resumed run that can be started."""

    run_id: str
    project: Project
    request: RunRequest
    plan: Plan
    agents: Mapping[str, Agent]
    """The agents of the run, by operation."""
    source: FactSource
    """Where agents get facts about nodes."""
    base: BaseSnapshot | None
    """The snapshot that a new run starts from, or None for a resumed run."""
    ruff: RuffBase | None
    """Checks the files of the base, or None for a resumed run."""
    python: ProjectPython | None
    """The interpreter for agents that run the project's code, or None."""
    workers: RemoteWorkers | None = None
    """Workers elsewhere, or None if jobs run in this process."""

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
    """A prepared run that has everything its jobs need."""

    prepared: PreparedRun
    models: Mapping[str, Model]
    """The connected models, by name or role."""
    facts: NodeFacts
    """Facts about nodes."""
    settings: Mapping[str, Any]
    """The configuration in the run's stream, with the `model_name` of agents that name no model."""
    observer: RunObserver
    clock: Callable[[], datetime]
    lost_jobs: LostJobs = field(default_factory=LostJobs)
    """Counts jobs that end early."""
    judge: "Callable[[Run, RunStream, BaseFiles], None] | None" = None
    """Judges all change sets of a run together, and records it, before the run ends."""

    async def work_off(self, jobs: Sequence[Job], work: Work) -> None:
        """Call `work` for each job in this process. Raises whatever `run_locally` raises."""
        await run_locally(jobs, work, self.concurrency)

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
    """The files that an agent starts from."""

    base: BaseSnapshot
    workspaces: SlotDriver
    """Makes private copies of them."""
    ruff: RuffBase
    """Checks the files of the base and of its copies."""
    rebased: Mapping[str, Any] = field(default_factory=dict)
    """The files that differ from the run's recorded base, as `{path: {sha256, mode}}`."""

    @cached_property
    def place(self) -> ToolTree:
        """The base for tools."""
        return ToolTree(self.base.folder, ruff=partial(Ruff, base=self.ruff))

    def findings(self, path: str) -> list[dict[str, Any]]:
        """Return the ruff findings for a file of the base. Raises HostError if ruff fails."""
        return self.place.ruff.check_file(path)
