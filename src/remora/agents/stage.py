"""What one agent is given to work with, wired by the composition root."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remora.agents.agent import Agent
from remora.agents.decide import Asking
from remora.agents.pull import NodeFacts
from remora.agents.verify import Findings
from remora.memory.events import Event
from remora.models import Model
from remora.trace import EventEmitter, ObjectStore
from remora.trace.redact import Redactor
from remora.workspaces import Workspace


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Everything outside the loop. `findings_before` lints the base, `findings_after` the
    workspace; `on_event` is told of each event once it is in the stream."""

    agent: Agent
    model: Model
    asking: Asking
    emitter: EventEmitter
    workspace: Workspace
    objects: ObjectStore
    facts: NodeFacts
    redact: Redactor
    findings_before: Findings
    findings_after: Findings
    clock: Callable[[], datetime]
    on_event: Callable[[Event], None]
    max_turns: int = 12
    options: Mapping[str, Any] = field(default_factory=dict)
    knowledge: Mapping[str, Any] = field(default_factory=dict)
    parent: Mapping[str, Any] | None = None
