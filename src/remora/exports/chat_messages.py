"""An agent's whole conversation as chat messages, in the form of OpenAI's API.

No request has the conversation, because each shows a packet in place of the history.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from remora.exports.escaped_events import escaped_events
from remora.memory.canonical import json_text
from remora.memory.events import (
    Event,
    ModelRequest,
    ModelResponse,
    Payload,
    ToolCalled,
    ToolResulted,
)
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore

_BY_MODEL = frozenset({"model", "escalation"})


def chat_messages(events: Iterable[Event], blobs: ObjectStore) -> list[dict[str, Any]]:
    """Return what was sent to the model, its answers, all tool calls and their complete results.

    What a request repeats of the request before it, or of the answer to that, is left out. A plain
    prompt is a user's message. A call that no single answer contains has its own message, with the
    decider as its `name`. Raises StreamDamaged if an event is invalid, and NotFound if a blob is
    missing.
    """
    conversation = _Conversation()
    for event in escaped_events(events, blobs):
        conversation.add(event, resolved_payload(event, blobs))
    return conversation.messages


class _Conversation:
    """A conversation so far.

    `_known` is what the next request may repeat, `_answers` are the answers by turn, and `_waiting`
    are the tools and IDs of the calls without a result.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._known: list[tuple[Any, ...]] = []
        self._answers: dict[int, list[dict[str, Any]]] = {}
        self._waiting: list[tuple[str, str]] = []

    def add(self, event: Event, payload: Payload | None) -> None:
        """Add the messages of an event."""
        answers = self._answers.setdefault(event.turn, [])
        match payload:
            case ModelRequest(messages=messages, prompt=prompt):
                sent = messages or [{"role": "user", "content": prompt or ""}]
                self.messages += [m for m in sent if _content(m) not in self._known]
                self._known = [*map(_content, sent)]
            case ModelResponse(text=text):
                answers.append({"role": "assistant", "content": text})
                self.messages.append(answers[-1])
                self._known.append(_content(answers[-1]))
            case ToolCalled() as called:
                if called.decided_by not in _BY_MODEL or len(answers) != 1:
                    answers = [{"role": "assistant", "content": None, "name": called.decided_by}]
                    self.messages += answers
                self._add_call(answers[0], called, f"call-{event.seq}")
            case ToolResulted() as result:
                self._add_result(result)

    def _add_call(self, message: dict[str, Any], called: ToolCalled, call_id: str) -> None:
        function = {"name": called.tool, "arguments": json_text(called.args)}
        call = {"id": call_id, "type": "function", "function": function}
        message.setdefault("tool_calls", []).append(call)
        self._waiting.append((called.tool, call_id))

    def _add_result(self, result: ToolResulted) -> None:
        waiting = next((call for call in self._waiting if call[0] == result.tool), None)
        if waiting is not None:
            self._waiting.remove(waiting)
            output = result.error if result.raw_output is None else result.raw_output
            text = output if isinstance(output, str) else json_text(output)
            self.messages.append({"role": "tool", "tool_call_id": waiting[1], "content": text})


def _content(message: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two equal messages have in common."""
    return message.get("role"), message.get("content"), message.get("tool_call_id")
