"""The `history/1` and `long_track/1` renderers, which show the raw output of all tool calls.

`history/1` is only used for comparisons (`runner.memory.enabled: false`), because the prompt grows
with every turn until it no longer fits. `long_track/1` is for the larger model: it shows the packet
after as much of the history as fits. The prompts are rendered from the stream's events, so they are
as reproducible as any other request.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from remora.chat import AnswerForm, ToolSchema
from remora.memory.canonical import json_text
from remora.memory.events import AgentError, Event, ToolCalled, ToolResulted
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest, chat_request, instructions
from remora.memory.prompt.lines import candidate_lines, packet_lines, target_lines

HISTORY = "history/1"
LONG_TRACK = "long_track/1"
HISTORY_TYPES = frozenset({ToolCalled.type, ToolResulted.type, AgentError.type})
"""Types of the rendered events."""


def render_history(
    packet: DecisionPacket, tools: Sequence[ToolSchema], form: AnswerForm, history: Sequence[Event]
) -> RenderedRequest:
    """Render the goal and target, all calls with their raw output, and the candidates."""
    lines = [
        *target_lines(packet),
        *(line for event in history for line in _event_lines(event)),
        *candidate_lines(packet),
    ]
    return chat_request(instructions(tools, form), "\n".join(lines))


def render_long_track(
    packet: DecisionPacket, tools: Sequence[ToolSchema], form: AnswerForm, history: Sequence[Event]
) -> RenderedRequest:
    """Render the given part of the history, and then the packet."""
    earlier = [line for event in history for line in _event_lines(event)]
    lines = ["History:", *earlier] if earlier else []
    return chat_request(instructions(tools, form), "\n".join([*lines, packet_lines(packet)]))


def _event_lines(event: Event) -> Iterator[str]:
    data: dict[str, Any] = msgspec.json.decode(event.data)
    if event.type == ToolCalled.type:
        yield f"call: {data['tool']} {json_text(data['args'])}"
    elif event.type == ToolResulted.type:
        yield f"result: {json_text(data['raw_output'])}"
    elif event.type == AgentError.type:
        yield f"error: {data['message']}"
