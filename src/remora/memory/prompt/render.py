"""Rendering of packets with the renderer recorded in the stream, so that requests are reproducible.

- `lines/2` shows the packet as short lines to use fewer tokens than JSON, and `json/1` as JSON
  without empty fields.
- `history/1` and `masked/1` show a chat instead of the packet. They are only used for comparisons
  (`runner.memory.mode`), because the prompt grows with every turn.
- `long_track/1` is for the larger model: it shows the packet after as much of the history as fits.
- `guided/1` shows what is needed to choose one of the suggestions and to fill it in.
- `packet/1` is for agents of other programs. It shows the packet and no text of Remora's. The
  system message is the packet's extension `instructions`, which the program gave. Tools are
  declared by the program and not listed.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from remora.chat import ANSWER_FORMS, AnswerForm, Message, ToolSchema
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt.base import (
    RenderedRequest,
    callable_tools,
    chat_request,
    constraint_line,
    json_line,
    prompt_context,
    system_lines,
    without_empty_fields,
)
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.functiongemma_prompt import (
    developer_lines,
    one_of_each_tool,
    open_tools,
    short_prompt,
)
from remora.memory.prompt.guided import (
    answer_letters,
    guided_question,
    guided_system,
    offered_calls,
)
from remora.memory.prompt.history import Step
from remora.memory.prompt.history_messages import chat_messages, history_lines
from remora.memory.prompt.lines import is_fixed, packet_lines, plain_lines

HISTORY = "history/1"
MASKED = "masked/1"
LONG_TRACK = "long_track/1"
PACKET_ONLY = "packet/1"
GUIDED = "guided/1"
FUNCTIONGEMMA = "functiongemma/3"
FUNCTIONGEMMA_TOOLS = "functiongemma_tools/2"
INSTRUCTIONS = "instructions"
"""The extension that `packet/1` shows as the system message."""


class Renderer(msgspec.Struct, frozen=True, kw_only=True):
    """A renderer of packets."""

    render: Callable[
        [DecisionPacket, Sequence[ToolSchema], AnswerForm, Sequence[Step], str], RenderedRequest
    ]
    strategy: str | None = None
    """The only supported strategy. None if all without a dedicated renderer are supported."""
    reads_history: bool = False
    """True if the recorded steps are shown."""


_Text = Callable[[DecisionPacket, Sequence[Step]], str]


def _chat(text: _Text) -> Callable[..., RenderedRequest]:
    """Return a renderer of a system message with the tools, and of a text as the user message."""
    return lambda packet, tools, form, history, instructions: chat_request(
        system_lines(tools, form, instructions), text(packet, history)
    )


def _json_text(packet: DecisionPacket, _history: Sequence[Step]) -> str:
    return json_line(without_empty_fields(prompt_context(packet)))


def _long_track_text(packet: DecisionPacket, history: Sequence[Step]) -> str:
    earlier = [*history_lines(history)]
    return "\n".join([*(["History:", *earlier] if earlier else []), packet_lines(packet)])


def _history(*, masked: bool) -> Renderer:
    """Return a renderer of a system message with the tools, and of the history as a chat."""

    def render(
        packet: DecisionPacket,
        tools: Sequence[ToolSchema],
        form: AnswerForm,
        history: Sequence[Step],
        instructions: str,
    ) -> RenderedRequest:
        system, _ = chat_request(system_lines(tools, form, instructions), "").messages or ()
        chat = chat_messages(packet, history, form, masked=masked)
        return RenderedRequest(messages=(system, *chat))

    return Renderer(render=render, reads_history=True)


def _packet_only(packet: DecisionPacket, *_: object) -> RenderedRequest:
    extensions = dict(packet.extensions)
    given = extensions.pop(INSTRUCTIONS, None)
    shown = replace(packet, extensions=extensions)
    user = Message(role="user", content=neutralize_control_tokens(packet_lines(shown)))
    if not isinstance(given, str):
        return RenderedRequest(messages=(user,))
    system = Message(role="system", content=neutralize_control_tokens(given))
    return RenderedRequest(messages=(system, user))


def _guided(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    form: AnswerForm,
    _history: Sequence[Step],
    instructions: str,
) -> RenderedRequest:
    rules, has_letters = constraint_line(packet, checks=False), bool(answer_letters(packet, tools))
    system = guided_system(form, instructions, rules, has_letters=has_letters)
    return chat_request(system, guided_question(packet, tools))


RENDERERS: Mapping[str, Renderer] = MappingProxyType(
    {
        "lines/2": Renderer(
            render=lambda packet, tools, form, _, text: chat_request(
                system_lines([*filter(is_fixed, tools)], form, text, constraint_line(packet)),
                plain_lines(packet, tools, declared=form.declares_tools),
            )
        ),
        "json/1": Renderer(render=_chat(_json_text)),
        FUNCTIONGEMMA: Renderer(
            render=lambda packet, tools, _, __, text: short_prompt(packet, tools, text),
            strategy="completion",
        ),
        FUNCTIONGEMMA_TOOLS: Renderer(
            render=lambda packet, tools, _, __, text: chat_request(
                developer_lines([text]), plain_lines(one_of_each_tool(packet), tools, declared=True)
            ),
            strategy="string_tool_call",
        ),
        HISTORY: _history(masked=False),
        MASKED: _history(masked=True),
        LONG_TRACK: Renderer(render=_chat(_long_track_text), reads_history=True),
        PACKET_ONLY: Renderer(render=_packet_only),
        GUIDED: Renderer(render=_guided),
    }
)
"""All renderers, keyed by their recorded names."""
RENDERER_STRATEGIES = frozenset(filter(None, (known.strategy for known in RENDERERS.values())))
"""Strategies that only one renderer supports."""


def answerable_calls(
    renderer: str, shown: DecisionPacket, tools: Sequence[ToolSchema]
) -> tuple[ToolSchema, ...]:
    """Return a schema for each call that may be the answer to the packet as a renderer shows it.

    Tools that are declared in all turns come first.
    """
    declared = tuple(sorted(callable_tools(shown, tools), key=lambda tool: not is_fixed(tool)))
    if renderer in (FUNCTIONGEMMA, FUNCTIONGEMMA_TOOLS):
        return tuple(open_tools(shown, declared))
    return (offered_calls(shown, declared) if renderer == GUIDED else ()) or declared


def lettered_answers(
    renderer: str, shown: DecisionPacket, tools: Sequence[ToolSchema]
) -> dict[str, Candidate]:
    """Return the suggestions by the letter that chooses one, if the answer is a letter alone."""
    return answer_letters(shown, callable_tools(shown, tools)) if renderer == GUIDED else {}


def reads_history(renderer: str) -> bool:
    """Return True if the renderer shows the recorded steps."""
    found = RENDERERS.get(renderer)
    return found is not None and found.reads_history


def render(
    renderer: str,
    shown: DecisionPacket,
    tools: Sequence[ToolSchema],
    strategy: str,
    history: Sequence[Step] = (),
    instructions: str = "",
) -> RenderedRequest:
    """Render the trimmed packet `shown` with the given renderer.

    `renderer` is a name with a version, such as `lines/2`. `strategy` is the form of the model's
    answer, such as `grammar` or `tool_call`. `history` is for renderers that read it.
    `instructions` are the agent's own, for renderers with a system message of Remora.
    Raises `KeyError` if the renderer or strategy is unknown.
    """
    found = RENDERERS[renderer]
    tools = callable_tools(shown, tools)
    form = ANSWER_FORMS[found.strategy or strategy]
    return found.render(shown, tools, form, history, instructions)
