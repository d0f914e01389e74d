"""An agent's job and its result."""

from typing import Literal

import msgspec

from remora.memory.events import Change, Head

Status = Literal["submitted", "no_change", "failed", "error", "interrupted"]
StopReason = Literal[
    "submitted",
    "no_change",
    "max_turns",
    "repeated_call",
    "no_progress",
    "verification",
    "packet_too_large",
    "model_error",
    "tool_error",
]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One node and one operation; `attempt` counts from 1."""

    run_id: str
    agent_id: str
    operation: str
    node_id: str
    node_type: str
    node_name: str
    node_summary: str
    path: str
    qualname: str
    attempt: int = 1


class AgentResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an attempt.

    `decided_by` counts the tool calls of each decider. `asked` counts the calls for which a model
    had a choice, and `differed` those for which it did not choose the first candidate. `raw_bytes`
    is the size of all raw outputs, and `max_packet_tokens` the size of the largest request.
    """

    status: Status
    stop_reason: StopReason
    turns: int = 0
    decided_by: dict[str, int] = {}
    asked: int = 0
    differed: int = 0
    max_packet_tokens: int = 0
    raw_bytes: int = 0
    change_set: tuple[Change, ...] = ()
    error: str | None = None
    head: Head = Head()
