"""An agent's whole conversation as chat messages, in the form of OpenAI's API.

No request has the conversation, because each shows a packet in place of the history.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from remora.memory.canonical import json_text
from remora.memory.events import Event, ModelRequest, ModelResponse, ToolCalled, ToolResulted
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
    for event in events:
        match resolved_payload(event, blobs):
            case ModelRequest() as request:
                conversation.add_request(request)
            case ModelResponse() as response:
                conversation.add_answer(event.turn, response)
            case ToolCalled() as called:
                conversation.add_call(event, called)
            case ToolResulted() as result:
                conversation.add_result(result)
    return conversation.messages


class _Conversation:
    """A conversation so far.

    `_known` is what the next request may repeat, `_answers` are those of turn `_turn`, and
    `_waiting` are the tools and IDs of the calls without a result.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._known: list[tuple[Any, ...]] = []
        self._turn = 0
        self._answers: list[dict[str, Any]] = []
        self._waiting: list[tuple[str, str]] = []

    def add_request(self, request: ModelRequest) -> None:
        sent = request.messages or [{"role": "user", "content": request.prompt or ""}]
        self.messages += [message for message in sent if _content(message) not in self._known]
        self._known = [*map(_content, sent)]

    def add_answer(self, turn: int, response: ModelResponse) -> None:
        message = {"role": "assistant", "content": response.text}
        self._answers = [message] if turn != self._turn else [*self._answers, message]
        self._turn = turn
        self._known.append(_content(message))
        self.messages.append(message)

    def add_call(self, event: Event, called: ToolCalled) -> None:
        answers = self._answers if event.turn == self._turn else []
        if called.decided_by in _BY_MODEL and len(answers) == 1:
            message = answers[0]
        else:
            message = {"role": "assistant", "content": None, "name": called.decided_by}
            self.messages.append(message)
        call_id = f"call-{event.seq}"
        function = {"name": called.tool, "arguments": json_text(called.args)}
        calls = message.setdefault("tool_calls", [])
        calls.append({"id": call_id, "type": "function", "function": function})
        self._waiting.append((called.tool, call_id))

    def add_result(self, result: ToolResulted) -> None:
        waiting = next((call for call in self._waiting if call[0] == result.tool), None)
        if waiting is None:
            return
        self._waiting.remove(waiting)
        output = result.error if result.raw_output is None else result.raw_output
        text = output if isinstance(output, str) else json_text(output)
        self.messages.append({"role": "tool", "tool_call_id": waiting[1], "content": text})


def _content(message: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two equal messages have in common."""
    return message.get("role"), message.get("content"), message.get("tool_call_id")
