"""A request by the recorded name of its renderer, so that any request can be made again."""

from collections.abc import Callable, Mapping, Sequence

from remora.chat import ToolSchema
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.functiongemma import render_functiongemma
from remora.memory.prompt.json import render_json
from remora.memory.prompt.lines import render_lines
from remora.memory.prompt.rendered import Rendered

RENDERERS: Mapping[str, Callable[[DecisionPacket, Sequence[ToolSchema], str], Rendered]] = {
    "lines/1": render_lines,
    "json/1": render_json,
    "functiongemma/1": render_functiongemma,
}


def render(
    renderer: str, shown: DecisionPacket, tools: Sequence[ToolSchema], strategy: str
) -> Rendered:
    """The request that shows `shown` (a trimmed packet) by the renderer of that name and version.

    `strategy` is how the model answers: `rank`, `grammar`, `tool_call` or `completion`.
    Raises `KeyError` for a renderer that no version ever had.
    """
    return RENDERERS[renderer](shown, tools, strategy)
