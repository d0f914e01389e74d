"""What a run is made of, whoever carries it out: its parts, its ground, who watches it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from remora.agents.decision.query_settings import Asking
from remora.agents.definition.agent import Agent
from remora.agents.inputs.hub_pull import NodeFacts
from remora.agents.job import AgentResult, Job
from remora.memory.events import Event
from remora.models.protocol import Model
from remora.runs.execution.engine import Engine
from remora.runs.planning.plan import Plan
from remora.runs.project import Project
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.ruff.file_findings import lint_findings
from remora.workspaces.copy.snapshot import Base
from remora.workspaces.copy.workspace import WorkspaceDriver


class Watcher(Protocol):
    """Is told how a run goes, as it goes."""

    def planned(self, run_id: str, plan: Plan) -> None:
        """The run begins."""

    def began(self, job: Job) -> None:
        """A job begins."""

    def event(self, job: Job, event: Event) -> None:
        """An event of a job is in its stream."""

    def ended(self, job: Job, result: AgentResult) -> None:
        """A job ended."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """All that a run needs, wired by the composition root.

    `model` gives an agent's model; of an agent that was asked before also by its recorded name.
    `python` runs code of the project, where an agent needs that.
    """

    run_id: str
    project: Project
    plan: Plan
    agents: Mapping[str, Agent]
    model: Callable[[Agent, str | None], Model]
    engine: Engine
    facts: NodeFacts
    clock: Callable[[], datetime]
    asking: Callable[[Agent], Asking]
    max_turns: Callable[[Agent], int]
    options: Mapping[str, Any]
    settings: Mapping[str, Any]
    watcher: Watcher
    listeners: tuple[Callable[[Event], object], ...] = ()
    python: ProjectPython | None = None


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The files that an agent starts from, and private copies of them.

    `rebased` are those of them that are not as in the run's own base: `{path: {sha256, mode}}`.
    """

    base: Base
    workspaces: WorkspaceDriver
    rebased: Mapping[str, Any] = field(default_factory=dict)
    _known: dict[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    def findings(self, path: str) -> list[dict[str, Any]]:
        """What ruff finds in a file of the base, which stays as it is. Raises HostError."""
        if path not in self._known:
            self._known[path] = lint_findings(self.base.folder, [path])
        return self._known[path]
