"""The `json/1` renderer, which shows the packet as JSON without empty fields."""

from collections.abc import Sequence

import msgspec

from remora.chat import AnswerForm, ToolSchema
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import (
    RenderedRequest,
    chat_request,
    instructions,
    prompt_context,
    without_empty_fields,
)


def render_json(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    form: AnswerForm,
    _history: Sequence[Event],
) -> RenderedRequest:
    """Render the system message and then the packet.

    The system message lists the tools unless they are declared natively.
    """
    shown = without_empty_fields(prompt_context(packet))
    return chat_request(instructions(tools, form), msgspec.json.encode(shown).decode())
