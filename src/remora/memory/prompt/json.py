"""The `json/1` rendering: the packet's own JSON, empty fields left out."""

from collections.abc import Sequence

import msgspec

from remora.chat import Message, ToolSchema
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.rendered import (
    LABELS,
    ROLE,
    Rendered,
    answer_line,
    filled,
    shown_context,
    signatures,
)


def render_json(packet: DecisionPacket, tools: Sequence[ToolSchema], strategy: str) -> Rendered:
    """System text with the tools (declared natively for `tool_call`), then the packet."""
    system = [ROLE, answer_line(strategy)]
    if strategy != "tool_call":
        system += ["Tools:", *signatures(tools)]
    shown = filled(shown_context(packet))
    if strategy == "rank" and "candidate_actions" in shown:
        shown["candidate_actions"] = dict(zip(LABELS, shown["candidate_actions"], strict=False))
    return Rendered(
        messages=(
            Message(role="system", content="\n".join(system)),
            Message(role="user", content=msgspec.json.encode(shown).decode()),
        )
    )
