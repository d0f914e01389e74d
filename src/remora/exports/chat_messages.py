"""An agent's whole conversation as chat messages, in the form of OpenAI's API.

No request has the conversation, because each shows a packet in place of the history.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remora.exports.escaped_events import escaped_events
from remora.memory.canonical import json_text
from remora.memory.events import Event, ModelRequest, ModelResponse, ToolCalled, ToolResulted
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import AgentTurn, Step, agent_turns
from remora.trace.read.blobs import whole_payload

_BY_MODEL = frozenset({"model", "escalation"})


def chat_messages(events: Iterable[Event], blobs: ObjectStore) -> list[dict[str, Any]]:
    """Return what was sent to the model, its answers, all tool calls and their complete results.

    What a request repeats of the request before it, or of the answer to that, is left out. A plain
    prompt is a user's message. A call that no single answer contains has its own message, with the
    decider as its `name`. Raises StreamDamaged if an event is invalid, and NotFound if a blob is
    missing.
    """
    conversation = _Conversation(blobs)
    for turn in agent_turns(escaped_events(events, blobs)):
        conversation.add(turn)
    return conversation.messages


class _Conversation:
    """A conversation so far. `_known` is what the next request may repeat."""

    def __init__(self, blobs: ObjectStore) -> None:
        self.messages: list[dict[str, Any]] = []
        self._blobs = blobs
        self._known: list[tuple[Any, ...]] = []

    def add(self, turn: AgentTurn) -> None:
        """Add the messages of a turn."""
        answers = [answer for step in turn.requests for answer in self._add_request(step)]
        for step in turn.calls:
            called = whole_payload(step.event, ToolCalled, self._blobs)
            if called.decided_by not in _BY_MODEL or len(answers) != 1:
                answers = [{"role": "assistant", "content": None, "name": called.decided_by}]
                self.messages += answers
            function = {"name": called.tool, "arguments": json_text(called.args)}
            call = {"id": f"call-{step.event.seq}", "type": "function", "function": function}
            answers[0].setdefault("tool_calls", []).append(call)
            if step.reply is not None:
                self._add_result(
                    str(call["id"]), whole_payload(step.reply, ToolResulted, self._blobs)
                )

    def _add_request(self, step: Step) -> Iterator[dict[str, Any]]:
        """Add the messages of a request and of its answer, and yield that of the answer."""
        request = whole_payload(step.event, ModelRequest, self._blobs)
        sent = request.messages or [{"role": "user", "content": request.prompt or ""}]
        self.messages += [message for message in sent if _content(message) not in self._known]
        self._known = [*map(_content, sent)]
        if step.reply is not None:
            text = whole_payload(step.reply, ModelResponse, self._blobs).text
            answer = {"role": "assistant", "content": text}
            self.messages.append(answer)
            self._known.append(_content(answer))
            yield answer

    def _add_result(self, call_id: str, result: ToolResulted) -> None:
        output = result.error if result.raw_output is None else result.raw_output
        text = output if isinstance(output, str) else json_text(output)
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": text})


def _content(message: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two equal messages have in common."""
    return message.get("role"), message.get("content"), message.get("tool_call_id")
