"""Rendering by the recorded name of the renderer, so that every request is reproducible."""

from collections.abc import Callable, Mapping, Sequence

from remora.chat import ToolSchema
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.functiongemma import render_functiongemma
from remora.memory.prompt.history import HISTORY, render_history
from remora.memory.prompt.json import render_json
from remora.memory.prompt.lines import render_lines

RENDERERS: Mapping[str, Callable[[DecisionPacket, Sequence[ToolSchema], str], RenderedRequest]] = {
    "lines/1": render_lines,
    "json/1": render_json,
    "functiongemma/1": render_functiongemma,
}
"""The renderers of a packet."""


def is_known_renderer(renderer: str) -> bool:
    """True if any version had a renderer of that name."""
    return renderer == HISTORY or renderer in RENDERERS


def render(
    renderer: str,
    shown: DecisionPacket,
    tools: Sequence[ToolSchema],
    strategy: str,
    history: Sequence[Event] = (),
) -> RenderedRequest:
    """Render `shown` (a trimmed packet) by the renderer of that name and version.

    `strategy` is how the model answers: `rank`, `grammar`, `tool_call` or `completion`. Only
    `history/1` reads `history`. Raises `KeyError` for an unknown renderer.
    """
    if renderer == HISTORY:
        return render_history(shown, tools, strategy, history)
    return RENDERERS[renderer](shown, tools, strategy)
