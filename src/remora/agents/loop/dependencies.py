"""The dependencies of an agent, connected by the composition root."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from remora.agents.decision.query_settings import QuerySettings, Rung
from remora.agents.definition.agent import Agent
from remora.agents.inputs.hub_pull import NodeFacts
from remora.agents.inputs.node_versions import UserFile
from remora.agents.loop.lost_jobs import LostJobs
from remora.judges.submission import Check, Findings
from remora.memory.events import Event
from remora.models.protocol import Model
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.ruff.ruff import MakeRuff
from remora.trace.content.objects import ObjectStore
from remora.trace.redact.redactor import Redactor
from remora.trace.stream.emitters import EventEmitter
from remora.workspaces.copy.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class AgentDependencies:
    """Everything that an agent needs from outside the loop."""

    agent: Agent
    model: Model
    settings: QuerySettings
    emitter: EventEmitter
    workspace: Workspace
    objects: ObjectStore
    blobs: ObjectStore
    facts: NodeFacts
    redact: Redactor
    findings_before: Findings
    """Lints the base."""
    ruff: MakeRuff
    """Makes the object that runs ruff for the workspace."""
    checks: Mapping[str, Check]
    """The built-in checks, keyed by name."""
    clock: Callable[[], datetime]
    on_event: Callable[[Event], None]
    """Called after each event is written."""
    user_file: UserFile | None
    """Reads the user's current files. Without it, user edits are not detected."""
    python: ProjectPython | None
    """Runs the project's code. Without it, no project code is run."""
    answers: Path | None
    check_results: dict[str, dict[Any, Any]] = field(default_factory=dict)
    """What checks keep in `Submission.results`, by the hash of the change set. Trials share it with
    the agent, so the same change set is not run twice.
    """
    lost_jobs: LostJobs = field(default_factory=LostJobs)
    """Says when the models of the run are not asked any more."""
    larger: Rung | None
    """Asked if no answer of `model` is good enough."""
    max_turns: int
    options: Mapping[str, Any]
    rebased: Mapping[str, Any]
    """The files whose base differs from the run's base (`{path: {sha256, mode}}`)."""
    recorded: Iterable[Event]
    """The events that are already in the agent's stream."""
    ancestors: Iterable[Event]
    """The events, up to the fork, of the streams that the agent was forked from."""

    @cached_property
    def rungs(self) -> tuple[Rung, ...]:
        """Return the models to ask, the smallest first."""
        main = Rung(self.model, self.settings)
        return (main,) if self.larger is None else (main, self.larger)
