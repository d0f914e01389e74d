"""Events of a run as they happen, one JSON object per line: `analyze --json-lines`."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from remora.agents.job import AgentResult, Job
from remora.json_schema import DIALECT
from remora.memory.events import Event, ToolCalled, TurnStart
from remora.runs.planning.plan import Plan
from remora.trace.read.reader import typed_payload


class JsonLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """`time` is in UTC, such as `2026-01-31T09:30:00.000000Z`."""

    time: str = msgspec.field(
        default_factory=lambda: datetime.now(UTC).isoformat().replace("+00:00", "Z")
    )


class RunPlanned(JsonLine, frozen=True, kw_only=True, tag="run"):
    """The start of a run. It is the first line."""

    run_id: str
    root: str
    jobs: int
    nodes: int


class Warned(JsonLine, frozen=True, kw_only=True, tag="warning"):
    """Something that the run leaves out. `path` is null if it is not about one file."""

    message: str
    path: str | None = None


class JobPlanned(JsonLine, frozen=True, kw_only=True, tag="job_planned"):
    """A job of the plan. All of them follow the start of the run."""

    agent_id: str
    operation: str
    node_id: str


class JobStarted(JsonLine, frozen=True, kw_only=True, tag="job_started"):
    agent_id: str


class TurnStarted(JsonLine, frozen=True, kw_only=True, tag="turn"):
    """The start of a turn of a job."""

    agent_id: str
    turn: int


class ToolUsed(JsonLine, frozen=True, kw_only=True, tag="call"):
    """A decision: the tool that is called, and what chose it, such as `rule` or `model`."""

    agent_id: str
    turn: int
    tool: str
    decided_by: str


class JobEnded(JsonLine, frozen=True, kw_only=True, tag="job_ended"):
    """The end of a job. `files_changed` contains the paths of its change set."""

    agent_id: str
    status: str
    stop_reason: str
    turns: int
    files_changed: tuple[str, ...]
    error: str | None


class RunResulted(JsonLine, frozen=True, kw_only=True, tag="result"):
    """The last line: the document of `analyze --json`, and the exit code.

    `stopped` says why the run ended early, and is empty otherwise.
    """

    exit_code: int
    stopped: str
    document: dict[str, Any]


class Failed(JsonLine, frozen=True, kw_only=True, tag="error"):
    """The last line instead of a result, if the command could not do its work."""

    code: str
    message: str
    hint: str


LINES = (
    RunPlanned, Warned, JobPlanned, JobStarted, TurnStarted, ToolUsed, JobEnded, RunResulted, Failed,
)  # fmt: skip


class EventLines:
    """An observer that passes each event of a run to `write`."""

    def __init__(self, root: str, write: Callable[[JsonLine], None]) -> None:
        self._root = root
        self._write = write

    def planned(self, run_id: str, plan: Plan) -> None:
        self._write(
            RunPlanned(run_id=run_id, root=self._root, jobs=len(plan.jobs), nodes=plan.nodes)
        )
        for file in plan.unreadable:
            self._write(Warned(message=str(file.get("detail")), path=str(file.get("path"))))
        for operation, reasons in plan.left.items():
            for reason, number in reasons.items():
                self._write(Warned(message=f"not planned: {operation}: {reason} ({number:,})"))
        for reason, number in plan.findings_left.items():
            self._write(Warned(message=f"left by lint: {reason} ({number:,})"))
        for job in plan.jobs:
            self._write(
                JobPlanned(agent_id=job.agent_id, operation=job.operation, node_id=job.node_id)
            )

    def began(self, job: Job) -> None:
        self._write(JobStarted(agent_id=job.agent_id))

    def event(self, job: Job, event: Event) -> None:
        if event.type == TurnStart.type:
            self._write(TurnStarted(agent_id=job.agent_id, turn=event.turn))
        elif event.type == ToolCalled.type:
            call = typed_payload(event)
            assert isinstance(call, ToolCalled), "an event that was just written"
            self._write(
                ToolUsed(
                    agent_id=job.agent_id,
                    turn=event.turn,
                    tool=call.tool,
                    decided_by=call.decided_by,
                )
            )

    def ended(self, job: Job, result: AgentResult) -> None:
        self._write(
            JobEnded(
                agent_id=job.agent_id,
                status=result.status,
                stop_reason=result.stop_reason,
                turns=result.counts.turns,
                files_changed=tuple(change.path for change in result.change_set),
                error=result.error,
            )
        )

    def judging(self, gate: str) -> None:
        """Write nothing: the judgement is in the result."""


def lines_schema() -> dict[str, Any]:
    """Return the schema of a line."""
    schemas, parts = msgspec.json.schema_components(LINES, ref_template="#/$defs/{name}")
    return {**DIALECT, "anyOf": list(schemas), "$defs": parts}
