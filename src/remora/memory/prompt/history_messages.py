"""The steps of an agent as a chat, with which packets are compared.

`raw` shows each result whole. `masked` shows the last two whole, and older ones in one line.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec.structs import replace

from remora.chat import AnswerForm, CalledFunction, Message, MessageCall
from remora.memory.canonical import json_text
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.history import Step
from remora.memory.prompt.lines import candidate_lines, target_lines, turn_line

WHOLE_RESULTS = 2
"""Results that `masked` shows whole."""


def later_steps(steps: Sequence[Step], omitted: int) -> Sequence[Step]:
    """Return the steps without the `omitted` oldest.

    Updates before the first call are dropped last.
    """
    first = next((number for number, step in enumerate(steps) if step.kind != "update"), len(steps))
    rest = steps[first + omitted :]
    return [*steps[max(0, first + omitted - len(steps)) : first], *rest]


def chat_messages(
    packet: DecisionPacket, steps: Sequence[Step], form: AnswerForm, *, masked: bool
) -> list[Message]:
    """Return the target and the steps as messages. The last one also has the current suggestions.

    If the form declares tools, calls and results are messages as servers define them.
    """
    results = [step for step in steps if step.kind == "result"]
    short = results[:-WHOLE_RESULTS] if masked else []
    messages = [_message("user", "\n".join(target_lines(packet)))]
    for step in steps:
        if step.kind == "update":
            messages[-1] = _extended(messages[-1], step.text)
        elif step.kind == "call":
            messages.append(_call_message(step, form))
        elif messages[-1].role == "assistant":  # else its call is left out
            text = step.line if any(step is result for result in short) else step.text
            messages.append(_result_message(messages[-1], text))
    now = "\n".join([*turn_line(packet), *candidate_lines(packet)])
    return [*messages[:-1], _extended(messages[-1], now)]


def _call_message(step: Step, form: AnswerForm) -> Message:
    if step.call is None:
        return _message("assistant", step.text or "-")
    if not form.declares_tools:
        return _message("assistant", json_text(step.call))
    arguments = neutralize_control_tokens(json_text(step.call.args))
    function = CalledFunction(name=step.call.tool, arguments=arguments)
    # Mistral's models accept only nine letters and digits
    call = MessageCall(id=f"call{step.turn:05}", function=function)
    return Message(role="assistant", content="", tool_calls=(call,))


def _result_message(called: Message, text: str) -> Message:
    message = _message("user", text)
    for call in called.tool_calls:
        return replace(message, role="tool", tool_call_id=call.id)
    return message


def _message(role: Literal["user", "assistant"], text: str) -> Message:
    return Message(role=role, content=neutralize_control_tokens(text))


def _extended(message: Message, text: str) -> Message:
    more = neutralize_control_tokens(text)
    return replace(message, content="\n".join(filter(None, (message.content, more))))


def history_lines(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the calls and results as lines. Further lines of a text are indented."""
    for step in steps:
        if step.kind == "call":
            yield f"call: {_indented(step.text) if step.call is None else json_text(step.call)}"
        elif step.kind == "result":
            yield f"result: {_indented(step.text)}"


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())
