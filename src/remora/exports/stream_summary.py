"""Summary of an agent's stream, including verification of its hashes."""

from pathlib import Path
from typing import Any

import msgspec

from remora.chat import Usage
from remora.errors import StreamDamaged
from remora.exports.escaped_events import escaped_events
from remora.memory.events import AgentStart, Event, Head
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import HINT, AgentTurn, EventData, agent_turns
from remora.trace.read.blobs import whole_payload
from remora.trace.read.reader import decode_part, stream_status
from remora.trace.read.verified_reader import verified_events


class AgentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The start, end and totals of an agent, as recorded in its stream."""

    start: AgentStart
    agent_id: str
    run_id: str
    operation: str
    node_id: str
    began: str
    ended: str
    head: Head
    status: str
    """The status of the end event."""
    stop_reason: str = ""
    error: str | None = None
    verified: bool | None = None
    """None if nothing was submitted."""
    input_tokens: int = 0
    """The total that servers reported."""
    output_tokens: int = 0
    """The total that servers reported."""
    turns: int

    @property
    def name(self) -> str:
        """The name in the agent's definition, or the operation if the definition has no name."""
        return str(self.start.definition.get("name") or self.operation)

    @property
    def model(self) -> str:
        return str(self.start.model.get("name") or "unknown")


def summarize_stream(path: Path, blobs: ObjectStore) -> AgentSummary:
    """Verify a stream's hashes and summarize it, in one pass with bounded memory.

    Raises NotFound if the stream does not exist, and StreamDamaged if it is damaged or is not an
    agent's stream.
    """
    start: Event | None = None
    last: Event | None = None
    facts: dict[str, Any] = {}
    for turn in agent_turns(escaped_events(verified_events(path), blobs)):
        start = start or turn.start
        if start is None:
            break
        last = turn.events[-1]
        _add(facts, turn)
    if start is None or last is None:
        raise StreamDamaged(f"{path.name} does not begin with agent_start", hint=HINT)
    return AgentSummary(
        start=whole_payload(start, AgentStart, blobs),
        agent_id=start.agent_id,
        run_id=start.run_id,
        operation=start.operation,
        node_id=start.node_id,
        began=start.timestamp,
        ended=last.timestamp,
        turns=last.turn,
        head=Head(count=last.seq + 1, hash=last.hash),
        **{"status": stream_status(path)} | facts,
    )


def _add(facts: dict[str, Any], turn: AgentTurn) -> None:
    """Add the facts of a turn. If it was resumed, later events replace earlier ones."""
    for step in turn.requests:
        usage = Usage() if step.reply is None else decode_part(step.reply, EventData).usage
        for name, number in (
            ("input_tokens", usage.prompt_tokens),
            ("output_tokens", usage.completion_tokens),
        ):
            facts[name] = facts.get(name, 0) + (number or 0)
    for submission in turn.submissions:
        facts["verified"] = decode_part(submission, EventData).verified
    if turn.end is not None:
        end = decode_part(turn.end, EventData)
        facts |= {"status": end.status, "stop_reason": end.stop_reason}
        facts["error"] = end.error if isinstance(end.error, str) else None
