"""The `packet/1` renderer, for agents of other programs. It shows the packet and no text of Remora's.

The system message is the packet's extension `instructions`, which the program gave. Without it,
there is no system message. Tools are declared by the program and not listed.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from remora.chat import AnswerForm, Message, ToolSchema
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.lines import packet_lines

PACKET_ONLY = "packet/1"
INSTRUCTIONS = "instructions"
"""The extension that is shown as the system message."""


def render_packet_only(
    packet: DecisionPacket,
    _tools: Sequence[ToolSchema],
    _form: AnswerForm,
    _history: Sequence[Event],
) -> RenderedRequest:
    """Render the instructions as the system message, and the rest of the packet as lines."""
    extensions = dict(packet.extensions)
    instructions = extensions.pop(INSTRUCTIONS, None)
    shown = replace(packet, extensions=extensions)
    user = Message(role="user", content=neutralize_control_tokens(packet_lines(shown)))
    if not isinstance(instructions, str):
        return RenderedRequest(messages=(user,))
    system = Message(role="system", content=neutralize_control_tokens(instructions))
    return RenderedRequest(messages=(system, user))
