"""The `likelihood` renderers, which show the place where the texts of the candidates may go.

With `likelihood/1`, the prompt is the packet's excerpt, which ends at that place, and the empty
prompt is the excerpt's last line. What makes a text more likely after the first than after the
second is the code. With `likelihood/2`, the packet may name another place, with weights for both
likelihoods that were fitted to texts of this kind.
"""

from collections.abc import Sequence

import msgspec

from remora.chat import AnswerForm, TextWeights, ToolSchema
from remora.memory.events import Event
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.control_tokens import neutralize_control_tokens

_SENTENCE_ENDS = (".", "!", "?")


def have_texts(candidates: Sequence[Candidate]) -> bool:
    """Return True if every candidate has a text that can be scored."""
    return all(one.text is not msgspec.UNSET and one.text for one in candidates)


def render_at_excerpt(
    packet: DecisionPacket,
    _tools: Sequence[ToolSchema],
    _form: AnswerForm,
    _history: Sequence[Event],
) -> RenderedRequest:
    """Render the excerpt, its last line, and the candidates' texts."""
    place = packet.excerpt.text if packet.excerpt is not None else ""
    return RenderedRequest(
        prompt=neutralize_control_tokens(place),
        empty=neutralize_control_tokens(place.rpartition("\n")[2]),
        texts=tuple(map(neutralize_control_tokens, _texts(packet))),
    )


def render_at_place(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    form: AnswerForm,
    history: Sequence[Event],
) -> RenderedRequest:
    """Render the packet's text place, or else its excerpt, and the candidates' texts."""
    place = packet.text_place
    if not place:
        return render_at_excerpt(packet, tools, form, history)
    texts = (_ended(text, place.end) for text in _texts(packet))
    return RenderedRequest(
        prompt=neutralize_control_tokens(place.before),
        empty=neutralize_control_tokens(place.empty),
        texts=tuple(map(neutralize_control_tokens, texts)),
        weights=TextWeights(given=float(place.given), alone=float(place.alone)),
    )


def _texts(packet: DecisionPacket) -> list[str]:
    return [one.text for one in packet.candidate_actions if one.text is not msgspec.UNSET]


def _ended(text: str, end: str) -> str:
    """Return a text on one line. It gets `end` if it does not end a sentence."""
    text = " ".join(text.split())
    return text if text.endswith(_SENTENCE_ENDS) else text + end
