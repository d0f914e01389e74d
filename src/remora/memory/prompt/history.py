"""The steps of an agent as a chat, with which packets are compared.

`raw` shows each result whole. `masked` shows the last two whole, and older ones in one line.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from remora.chat import AnswerForm, CalledFunction, Message, MessageCall, ToolCall
from remora.memory.canonical import json_text
from remora.memory.events import (
    AgentError,
    ContextUpdate,
    Event,
    ModelResponse,
    SubmitResult,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.lines import (
    candidate_lines,
    error_line,
    marked_lines,
    memory_lines,
    target_lines,
    turn_line,
)
from remora.memory.result_texts import result_texts

RESULT_LIMIT = 10_000
"""Maximum characters of a result in a chat, as in mini-swe-agent. Its middle is left out."""
WHOLE_RESULTS = 2
"""Results that `masked` shows whole."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the history."""

    kind: Literal["update", "call", "result"]
    """An `update` is what scripts or the Hub gave, and a `result` what became of the call before
    it.
    """
    turn: int
    text: str = ""
    line: str = ""
    """A result in one line."""
    call: ToolCall | None = None
    """None for an answer that makes no call."""


class History:
    """The steps so far of the agent that starts with `packet`."""

    def __init__(self, packet: DecisionPacket) -> None:
        self.steps: list[Step] = []
        self._packet = DecisionPacket(node_id=packet.node_id)
        self._answer: dict[str, Any] = {}
        self._update(packet)

    def add(self, event: Event, packet: DecisionPacket) -> None:
        """Add what an event shows. `packet` is the packet with the event's delta applied."""
        if event.type in (ContextUpdate.type, SubmitResult.type):
            self._update(packet)
        elif event.type in (ModelResponse.type, ToolCalled.type):
            self._called(event)
        elif event.type == ToolResulted.type:
            data: dict[str, Any] = msgspec.json.decode(event.data)
            line = packet.recent_actions[-1].summary if packet.recent_actions else ""
            text = "\n".join(filter(None, self._result(_whole(data), line, packet))) or line
            self._add("result", event.turn, text=_clipped(text), line=marked_lines(line))
        elif event.type == AgentError.type and self._answer:
            call = self._answer.get("call")
            made = ToolCall(tool=call["tool"], args=call["args"]) if call else None
            self._add("call", event.turn, text=_clipped(self._answer["text"]), call=made)
            error = f"Error: {packet.last_error}"
            self._add("result", event.turn, text=error, line=error)
        self._packet = packet

    def _called(self, event: Event) -> None:
        """Keep an answer until it is known whether it makes a call."""
        data = _whole(msgspec.json.decode(event.data))
        self._answer = data if event.type == ModelResponse.type else {}
        if event.type == ToolCalled.type:
            call = ToolCall(tool=data["tool"], args=data["args"])
            self._add("call", event.turn, call=call)

    def _result(self, data: dict[str, Any], line: str, packet: DecisionPacket) -> Iterator[str]:
        """Yield what the tool returned: its words and its result, and what neither contains."""
        raw, result = data["raw_output"], data["parsed_output"]
        text = result if isinstance(result, str) else "" if result is None else json_text(result)
        told = [line, text] if raw != result else [text]
        yield from map(marked_lines, told)
        if raw != result:
            yield from _news(self._packet, self._without(packet, result))
        if data["outcome"] == "error" and packet.last_error not in told:
            yield from error_line(packet)

    def _without(self, packet: DecisionPacket, result: Any) -> DecisionPacket:
        """Return the packet without what a result says, too."""
        texts = [text for _, text in result_texts(result)]
        code, findings = packet.excerpt, packet.diagnostics
        return replace(
            packet,
            knowledge=packet.knowledge if result is None else {},
            excerpt=None if code and any(code.text in text for text in texts) else code,
            diagnostics=() if all(finding in texts for finding in findings) else findings,
        )

    def _update(self, packet: DecisionPacket) -> None:
        news = [*_news(self._packet, packet)]
        if packet.last_error != self._packet.last_error:
            news += error_line(packet)
        if news:
            self._add("update", packet.turn, text="\n".join(news))
        self._packet = packet

    def _add(self, kind: Literal["update", "call", "result"], turn: int, **fields: Any) -> None:
        self.steps.append(Step(kind=kind, turn=turn, **fields))


def _news(before: DecisionPacket, now: DecisionPacket) -> Iterator[str]:
    """Yield the facts, the code and the findings that a packet has and the one before has not."""
    known = {key: fact.value for key, fact in before.knowledge.items()}
    return memory_lines(
        replace(
            now,
            knowledge={
                k: f for k, f in now.knowledge.items() if k not in known or known[k] != f.value
            },
            hub_context=_new(before.hub_context, now.hub_context),
            extensions=_new(before.extensions, now.extensions),
            excerpt=None if _code(now) == _code(before) else now.excerpt,
            diagnostics=() if now.diagnostics == before.diagnostics else now.diagnostics,
        )
    )


def _code(packet: DecisionPacket) -> tuple[Any, ...]:
    code = packet.excerpt
    return () if code is None else (code.path, code.lines[0], code.text.rstrip("\n"))


def _new(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in now.items() if before.get(key) != value}


def _whole(value: Any) -> Any:
    """Return event data with the beginnings and ends of texts that are in the blob store."""
    match value:
        case {"$blob": {"first": list(first), "last": list(last)}}:
            return "\n".join([*first, "...", *last])
        case dict():
            return {key: _whole(item) for key, item in value.items()}
        case list():
            return [*map(_whole, value)]
    return value


def _clipped(text: str) -> str:
    if len(text) <= RESULT_LIMIT:
        return text
    half = RESULT_LIMIT // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters ...\n{text[-half:]}"


def later_steps(steps: Sequence[Step], omitted: int) -> Sequence[Step]:
    """Leave out the oldest steps. What was given before the first call stays longest."""
    first = next((n for n, step in enumerate(steps) if step.kind != "update"), len(steps))
    rest = steps[first + omitted :]
    return [*steps[max(0, first + omitted - len(steps)) : first], *rest]


def chat_messages(
    packet: DecisionPacket, steps: Sequence[Step], form: AnswerForm, *, masked: bool
) -> list[Message]:
    """Return the target and the steps as messages. The last one also has the suggestions of now.

    If the form declares tools, calls and results are messages as servers define them.
    """
    results = [step for step in steps if step.kind == "result"]
    short = results[:-WHOLE_RESULTS] if masked else []
    made = [_message("user", "\n".join(target_lines(packet)))]
    for step in steps:
        if step.kind == "update":
            made[-1] = _extended(made[-1], step.text)
        elif step.kind == "call":
            made.append(_called(step, form))
        elif made[-1].role == "assistant":  # else its call is left out
            text = step.line if any(step is result for result in short) else step.text
            made.append(_answered(made[-1], text))
    now = "\n".join([*turn_line(packet), *candidate_lines(packet)])
    return [*made[:-1], _extended(made[-1], now)]


def _called(step: Step, form: AnswerForm) -> Message:
    if step.call is None:
        return _message("assistant", step.text or "-")
    if not form.declares_tools:
        return _message("assistant", json_text(step.call))
    arguments = neutralize_control_tokens(json_text(step.call.args))
    function = CalledFunction(name=step.call.tool, arguments=arguments)
    # Mistral's models accept only nine letters and digits
    call = MessageCall(id=f"call{step.turn:05}", function=function)
    return Message(role="assistant", content="", tool_calls=(call,))


def _answered(called: Message, text: str) -> Message:
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
