"""The `likelihood/1` renderer, which shows the place where the texts of the candidates may go.

The prompt is the packet's excerpt, which ends at that place. The empty prompt is only the excerpt's
last line. What makes a text more likely after the first than after the second is the code.
"""

from collections.abc import Sequence

import msgspec

from remora.chat import AnswerForm, ToolSchema
from remora.memory.events import Event
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.control_tokens import neutralize_control_tokens


def have_texts(candidates: Sequence[Candidate]) -> bool:
    """Return True if every candidate has a text that can be scored."""
    return all(one.text is not msgspec.UNSET and one.text for one in candidates)


def render_likelihood(
    packet: DecisionPacket,
    _tools: Sequence[ToolSchema],
    _form: AnswerForm,
    _history: Sequence[Event],
) -> RenderedRequest:
    """Render the excerpt, its last line, and the candidates' texts."""
    place = packet.excerpt.text if packet.excerpt is not None else ""
    texts = [one.text for one in packet.candidate_actions if one.text is not msgspec.UNSET]
    return RenderedRequest(
        prompt=neutralize_control_tokens(place),
        empty=neutralize_control_tokens(place.rpartition("\n")[2]),
        texts=tuple(map(neutralize_control_tokens, texts)),
    )
