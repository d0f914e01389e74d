"""The dependencies of an agent, connected by the composition root."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
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
    """Everything that an agent needs from outside the loop.

    - `larger` is asked if no answer of `model` is good enough.
    - `findings_before` lints the base, and `ruff` makes the object that runs ruff for the workspace.
    - `checks` contains the built-in checks, keyed by name.
    - `on_event` is called after each event is written.
    - `recorded` contains the events that are already in the agent's stream.
    - `ancestors` contains the events, up to the fork, of the streams that the agent was forked
      from.
    - `rebased` contains the files whose base differs from the run's base (`{path: {sha256,
      mode}}`).
    - `user_file` reads the user's current files. Without it, user edits are not detected.
    - `python` runs the project's code. Without it, no project code is run.
    - `shared` is what the jobs of the run with the same operation share.
    - `lost_jobs` says when the models of the run are not asked any more.
    - `check_results` contains what checks keep in `Submission.results`, by the hash of the change
      set. Trials share it with the agent, so the same change set is not run twice.
    """

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
    ruff: MakeRuff
    checks: Mapping[str, Check]
    clock: Callable[[], datetime]
    on_event: Callable[[Event], None]
    user_file: UserFile | None
    python: ProjectPython | None
    answers: Path | None
    check_results: dict[str, dict[Any, Any]] = field(default_factory=dict)
    lost_jobs: LostJobs = field(default_factory=LostJobs)
    larger: Rung | None
    max_turns: int
    options: Mapping[str, Any]
    rebased: Mapping[str, Any]
    recorded: Iterable[Event]
    ancestors: Iterable[Event]

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """Return the models to ask, the smallest first."""
        main = Rung(self.model, self.settings)
        return (main,) if self.larger is None else (main, self.larger)
