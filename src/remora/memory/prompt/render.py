"""Rendering of packets with the renderer recorded in the stream.

This makes every request reproducible.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from remora.chat import ANSWER_FORMS, AnswerForm, ToolSchema
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.functiongemma import (
    render_functiongemma,
    render_functiongemma_tools,
)
from remora.memory.prompt.history import (
    HISTORY,
    LONG_TRACK,
    render_history,
    render_long_track,
)
from remora.memory.prompt.json import render_json
from remora.memory.prompt.lines import render_lines
from remora.memory.prompt.packet_only import PACKET_ONLY, render_packet_only

FUNCTIONGEMMA_TOOLS = "functiongemma_tools/1"


class Renderer(msgspec.Struct, frozen=True, kw_only=True):
    """A renderer of packets.

    If `strategy` is set, the renderer supports only that strategy. Otherwise, it supports all
    strategies that have no dedicated renderer. If `reads_history` is true, the renderer shows the
    recorded events instead of the packet.
    """

    render: Callable[
        [DecisionPacket, Sequence[ToolSchema], AnswerForm, Sequence[Event]], RenderedRequest
    ]
    strategy: str | None = None
    reads_history: bool = False


RENDERERS: Mapping[str, Renderer] = MappingProxyType(
    {
        "lines/1": Renderer(render=render_lines),
        "json/1": Renderer(render=render_json),
        "functiongemma/1": Renderer(render=render_functiongemma, strategy="completion"),
        FUNCTIONGEMMA_TOOLS: Renderer(
            render=render_functiongemma_tools, strategy="string_tool_call"
        ),
        HISTORY: Renderer(render=render_history, reads_history=True),
        LONG_TRACK: Renderer(render=render_long_track, reads_history=True),
        PACKET_ONLY: Renderer(render=render_packet_only),
    }
)
"""All renderers, keyed by their recorded names."""
RENDERER_STRATEGIES = frozenset(filter(None, (found.strategy for found in RENDERERS.values())))
"""Strategies that only one renderer supports."""


def reads_history(renderer: str) -> bool:
    """Return True if the renderer shows the recorded events instead of the packet."""
    found = RENDERERS.get(renderer)
    return found is not None and found.reads_history


def render(
    renderer: str,
    shown: DecisionPacket,
    tools: Sequence[ToolSchema],
    strategy: str,
    history: Sequence[Event] = (),
) -> RenderedRequest:
    """Render the trimmed packet `shown` with the given renderer.

    `renderer` is a name with a version, such as `lines/1`. `strategy` is the form of the model's
    answer, such as `grammar` or `tool_call`. `history` is used only by `history/1`.
    Raises `KeyError` if the renderer or strategy is unknown.
    """
    found = RENDERERS[renderer]
    return found.render(shown, tools, ANSWER_FORMS[found.strategy or strategy], history)
