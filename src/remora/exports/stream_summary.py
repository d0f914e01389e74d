"""Summary of an agent's stream, including verification of its hashes."""

from itertools import dropwhile
from pathlib import Path
from typing import Any

import msgspec

from remora.chat import ToolSchema
from remora.errors import StreamDamaged
from remora.exports.escaped_events import escaped_events
from remora.memory.events import (
    AgentEnd,
    AgentStart,
    Event,
    Head,
    ModelResponse,
    Recovered,
    SubmitResult,
)
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import HINT
from remora.trace.read.reader import decode_part, stream_status
from remora.trace.read.verified_reader import verified_events


class AgentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The start, end and totals of an agent, as recorded in its stream.

    `status` is that of the end event. `verified` is None if nothing was submitted. Token counts are
    the totals reported by the servers.
    """

    start: AgentStart
    agent_id: str
    run_id: str
    operation: str
    node_id: str
    began: str
    ended: str
    head: Head
    status: str
    stop_reason: str = ""
    error: str | None = None
    verified: bool | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    turns: int

    @property
    def name(self) -> str:
        """The name in the agent's definition, or the operation if the definition has no name."""
        return str(self.start.definition.get("name") or self.operation)

    @property
    def model(self) -> str:
        return str(self.start.model.get("name") or "unknown")

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        return self.start.tools


def summarize_stream(path: Path, blobs: ObjectStore) -> AgentSummary:
    """Verify a stream's hashes and summarize it, in one pass with bounded memory.

    Raises NotFound if the stream does not exist, and StreamDamaged if it is damaged or is not an
    agent's stream.
    """
    # a writer may have been killed while it wrote the very first line, before `agent_start`
    verified = escaped_events(verified_events(path), blobs)
    events = dropwhile(lambda event: event.type == Recovered.type, verified)
    first = next(events, None)
    start = resolved_payload(first, blobs) if first is not None else None
    if first is None or not isinstance(start, AgentStart):
        raise StreamDamaged(f"{path.name} does not begin with agent_start", hint=HINT)
    found = _SummaryBuilder(first)
    for event in events:
        found.take(event)
    return AgentSummary(
        start=start,
        agent_id=first.agent_id,
        run_id=first.run_id,
        operation=first.operation,
        node_id=first.node_id,
        began=first.timestamp,
        ended=found.last.timestamp,
        turns=found.last.turn,
        head=Head(count=found.last.seq + 1, hash=found.last.hash),
        **{"status": stream_status(path)} | found.facts,
    )


class _Ended(msgspec.Struct):
    status: str
    stop_reason: str = ""
    error: Any = None


class _Submitted(msgspec.Struct):
    verified: bool = False


class _Counted(msgspec.Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answered(msgspec.Struct):
    usage: _Counted = _Counted()


class _SummaryBuilder:
    """Collects facts from each event. If a turn was resumed, later events replace earlier ones."""

    def __init__(self, first: Event) -> None:
        self.last = first
        self.facts: dict[str, Any] = {}

    def take(self, event: Event) -> None:
        self.last = event
        if event.type == AgentEnd.type:
            end = decode_part(event, _Ended)
            self.facts |= {"status": end.status, "stop_reason": end.stop_reason}
            self.facts["error"] = end.error if isinstance(end.error, str) else None
        elif event.type == SubmitResult.type:
            self.facts["verified"] = decode_part(event, _Submitted).verified
        elif event.type == ModelResponse.type:
            usage = decode_part(event, _Answered).usage
            self._add("input_tokens", usage.prompt_tokens)
            self._add("output_tokens", usage.completion_tokens)

    def _add(self, name: str, count: int | None) -> None:
        self.facts[name] = self.facts.get(name, 0) + (count or 0)
