"""The `json/1` rendering: the packet's own JSON, empty fields left out."""

from collections.abc import Sequence

import msgspec

from remora.chat import ToolSchema
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import (
    LABELS,
    Rendered,
    conversation,
    filled,
    instructions,
    shown_context,
)


def render_json(packet: DecisionPacket, tools: Sequence[ToolSchema], strategy: str) -> Rendered:
    """System text with the tools (declared natively for `tool_call`), then the packet."""
    shown = filled(shown_context(packet))
    if strategy == "rank" and "candidate_actions" in shown:
        shown["candidate_actions"] = dict(zip(LABELS, shown["candidate_actions"], strict=False))
    return conversation(instructions(tools, strategy), msgspec.json.encode(shown).decode())
