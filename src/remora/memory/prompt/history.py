"""The steps of an agent, which chats show instead of packets, to compare both."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from remora.chat import ToolCall
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
from remora.memory.prompt.lines import error_line, marked_lines, memory_lines
from remora.memory.result_texts import result_texts

RESULT_LIMIT = 10_000
"""Maximum characters of a result in a chat, as in mini-swe-agent. Its middle is left out."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the history."""

    kind: Literal["update", "call", "result"]
    """`update`: facts from scripts or the Hub; `result`: the outcome of the call before it."""
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
            self._add_call(event)
        elif event.type == ToolResulted.type:
            data: dict[str, Any] = msgspec.json.decode(event.data)
            line = packet.recent_actions[-1].summary if packet.recent_actions else ""
            text = "\n".join(filter(None, self._result_lines(_whole(data), line, packet))) or line
            self._add("result", event.turn, text=_clipped(text), line=marked_lines(line))
        elif event.type == AgentError.type and self._answer:
            call = self._answer.get("call")
            made = ToolCall(tool=call["tool"], args=call["args"]) if call else None
            self._add("call", event.turn, text=_clipped(self._answer["text"]), call=made)
            error = f"Error: {packet.last_error}"
            self._add("result", event.turn, text=error, line=error)
        self._packet = packet

    def _add_call(self, event: Event) -> None:
        """Keep an answer until it is known whether it makes a call."""
        data = _whole(msgspec.json.decode(event.data))
        self._answer = data if event.type == ModelResponse.type else {}
        if event.type == ToolCalled.type:
            call = ToolCall(tool=data["tool"], args=data["args"])
            self._add("call", event.turn, call=call)

    def _result_lines(
        self, data: dict[str, Any], line: str, packet: DecisionPacket
    ) -> Iterator[str]:
        """Yield what the tool returned: its words and its result, and what neither contains."""
        raw, result = data["raw_output"], data["parsed_output"]
        text = result if isinstance(result, str) else "" if result is None else json_text(result)
        texts = [line, text] if raw != result else [text]
        yield from map(marked_lines, texts)
        if raw != result:
            yield from _changed_lines(self._packet, self._without(packet, result))
        if data["outcome"] == "error" and packet.last_error not in texts:
            yield from error_line(packet)

    def _without(self, packet: DecisionPacket, result: Any) -> DecisionPacket:
        """Return the packet without the facts that a result already contains."""
        texts = [text for _, text in result_texts(result)]
        code, findings = packet.excerpt, packet.diagnostics
        return replace(
            packet,
            knowledge=packet.knowledge if result is None else {},
            excerpt=None if code and any(code.text in text for text in texts) else code,
            diagnostics=() if all(finding in texts for finding in findings) else findings,
        )

    def _update(self, packet: DecisionPacket) -> None:
        lines = [*_changed_lines(self._packet, packet)]
        if packet.last_error != self._packet.last_error:
            lines += error_line(packet)
        if lines:
            self._add("update", packet.turn, text="\n".join(lines))
        self._packet = packet

    def _add(self, kind: Literal["update", "call", "result"], turn: int, **fields: Any) -> None:
        self.steps.append(Step(kind=kind, turn=turn, **fields))


def _changed_lines(before: DecisionPacket, now: DecisionPacket) -> Iterator[str]:
    """Yield the facts, the code and the findings that a packet has and the one before has not."""
    known = {key: fact.value for key, fact in before.knowledge.items()}
    return memory_lines(
        replace(
            now,
            knowledge={
                key: fact
                for key, fact in now.knowledge.items()
                if key not in known or known[key] != fact.value
            },
            hub_context=_changed_items(before.hub_context, now.hub_context),
            extensions=_changed_items(before.extensions, now.extensions),
            excerpt=None if _code(now) == _code(before) else now.excerpt,
            diagnostics=() if now.diagnostics == before.diagnostics else now.diagnostics,
        )
    )


def _code(packet: DecisionPacket) -> tuple[Any, ...]:
    code = packet.excerpt
    return () if code is None else (code.path, code.lines[0], code.text.rstrip("\n"))


def _changed_items(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
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
