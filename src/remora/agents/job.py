"""An agent's job and its result."""

from typing import Literal

import msgspec

from remora.memory.events import Change, Head
from remora.statuses import Status, shown_status

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


class Job(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One operation on one node, or on several nodes of a file."""

    run_id: str
    agent_id: str
    operation: str
    node_id: str
    node_type: str
    node_name: str
    node_summary: str
    path: str
    qualname: str
    nodes: tuple[str, ...] | None = None
    """Keys of the nodes to work on. None means only `node_id`, and an empty tuple means all nodes
    of the file.
    """
    attempt: int = 1
    """1 for the first attempt."""


class Counts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Counts for an agent's whole life."""

    turns: int = 0
    """The number of turns."""
    decided_by: dict[str, int] = {}
    """The number of tool calls by each decider. All that were not made by rule are decisions of a
    model, because it could have called something else."""
    invalid: int = 0
    """The number of answers that were not a valid call."""
    refused: int = 0
    """The number of calls of a model that a tool or a check refused."""
    requests: int = 0
    """The number of requests that models answered."""
    sent_tokens: int = 0
    """The total size of these requests."""
    max_packet_tokens: int = 0
    """The size of the largest request."""
    raw_bytes: int = 0
    """The total size of all raw outputs."""


class AgentResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an attempt."""

    status: Status | Literal["verified"]
    stop_reason: StopReason | Literal["verified"]
    counts: Counts = Counts()
    change_set: tuple[Change, ...] = ()
    error: str | None = None
    head: Head = Head()

    def shown(self) -> "AgentResult":
        """Return the result as observers get it, in the words of documents."""
        status, stop_reason = shown_status(self.status), shown_status(self.stop_reason)
        return msgspec.structs.replace(self, status=status, stop_reason=stop_reason)
