"""Rendering of packets with the renderer recorded in the stream, so that requests are reproducible.

- `lines/1` shows the packet as short lines to use fewer tokens than JSON, and `json/1` as JSON
  without empty fields.
- `history/1` shows the raw output of all tool calls. It is only used for comparisons
  (`runner.memory.enabled: false`), because the prompt grows with every turn.
- `long_track/1` is for the larger model: it shows the packet after as much of the history as fits.
- `packet/1` is for agents of other programs. It shows the packet and no text of Remora's. The
  system message is the packet's extension `instructions`, which the program gave. Tools are
  declared by the program and not listed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.chat import ANSWER_FORMS, AnswerForm, Message, ToolSchema
from remora.memory.canonical import json_text
from remora.memory.events import AgentError, Event, ToolCalled, ToolResulted
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import (
    RenderedRequest,
    callable_tools,
    chat_request,
    prompt_context,
    system_lines,
    without_empty_fields,
)
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.functiongemma import DEVELOPER, functiongemma_prompt
from remora.memory.prompt.lines import candidate_lines, packet_lines, target_lines

HISTORY = "history/1"
LONG_TRACK = "long_track/1"
PACKET_ONLY = "packet/1"
FUNCTIONGEMMA_TOOLS = "functiongemma_tools/1"
HISTORY_TYPES = frozenset({ToolCalled.type, ToolResulted.type, AgentError.type})
"""Types of the events that the history shows."""
INSTRUCTIONS = "instructions"
"""The extension that `packet/1` shows as the system message."""


class Renderer(msgspec.Struct, frozen=True, kw_only=True):
    """A renderer of packets.

    If `strategy` is set, the renderer supports only that strategy. Otherwise, it supports all
    strategies that have no dedicated renderer. If `reads_history` is true, the renderer shows the
    recorded events instead of the packet.
    """

    render: Callable[
        [DecisionPacket, Sequence[ToolSchema], AnswerForm, Sequence[Event], str], RenderedRequest
    ]
    strategy: str | None = None
    reads_history: bool = False


_Text = Callable[[DecisionPacket, Sequence[Event]], str]


def _chat(text: _Text) -> Callable[..., RenderedRequest]:
    """Return a renderer of a system message with the tools, and of a text as the user message."""
    return lambda packet, tools, form, history, instructions: chat_request(
        system_lines(tools, form, instructions), text(packet, history)
    )


def _json_text(packet: DecisionPacket, _history: Sequence[Event]) -> str:
    return json_text(without_empty_fields(prompt_context(packet)))


def _history_text(packet: DecisionPacket, history: Sequence[Event]) -> str:
    """Return the goal and target, all calls with their raw output, and the candidates."""
    return "\n".join([*target_lines(packet), *_event_lines(history), *candidate_lines(packet)])


def _long_track_text(packet: DecisionPacket, history: Sequence[Event]) -> str:
    earlier = ["History:", *_event_lines(history)] if history else []
    return "\n".join([*earlier, packet_lines(packet)])


def _event_lines(history: Sequence[Event]) -> Iterator[str]:
    for event in history:
        data: dict[str, Any] = msgspec.json.decode(event.data)
        if event.type == ToolCalled.type:
            yield f"call: {data['tool']} {json_text(data['args'])}"
        elif event.type == ToolResulted.type:
            yield f"result: {json_text(data['raw_output'])}"
        elif event.type == AgentError.type:
            yield f"error: {data['message']}"


def _packet_only(packet: DecisionPacket, *_: object) -> RenderedRequest:
    extensions = dict(packet.extensions)
    given = extensions.pop(INSTRUCTIONS, None)
    shown = replace(packet, extensions=extensions)
    user = Message(role="user", content=neutralize_control_tokens(packet_lines(shown)))
    if not isinstance(given, str):
        return RenderedRequest(messages=(user,))
    system = Message(role="system", content=neutralize_control_tokens(given))
    return RenderedRequest(messages=(system, user))


RENDERERS: Mapping[str, Renderer] = MappingProxyType(
    {
        "lines/1": Renderer(render=_chat(lambda packet, _: packet_lines(packet))),
        "json/1": Renderer(render=_chat(_json_text)),
        "functiongemma/1": Renderer(
            render=lambda packet, tools, *_: functiongemma_prompt(packet, tools),
            strategy="completion",
        ),
        FUNCTIONGEMMA_TOOLS: Renderer(
            render=lambda packet, *_: chat_request([DEVELOPER], packet_lines(packet)),
            strategy="string_tool_call",
        ),
        HISTORY: Renderer(render=_chat(_history_text), reads_history=True),
        LONG_TRACK: Renderer(render=_chat(_long_track_text), reads_history=True),
        PACKET_ONLY: Renderer(render=_packet_only),
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
    instructions: str = "",
) -> RenderedRequest:
    """Render the trimmed packet `shown` with the given renderer.

    `renderer` is a name with a version, such as `lines/1`. `strategy` is the form of the model's
    answer, such as `grammar` or `tool_call`. `history` is used only by `history/1`. `instructions`
    are the agent's own, for renderers with a system message of Remora.
    Raises `KeyError` if the renderer or strategy is unknown.
    """
    found = RENDERERS[renderer]
    tools = callable_tools(shown, tools)
    form = ANSWER_FORMS[found.strategy or strategy]
    return found.render(shown, tools, form, history, instructions)
