"""A scripted model with fixed answers, for tests, demonstrations and repeated runs."""

from collections.abc import Callable, Sequence
from typing import Any

from remora.chat import Answer, ToolCall, Usage
from remora.errors import ModelError
from remora.models.client.openai_client import count_tokens
from remora.models.protocol import Capabilities, Request, TokenCounter
from remora.models.token_counters import Basis, UpperBound

Reply = str | ToolCall
"""A text, or a native tool call."""


class _OwnCount(UpperBound):
    """The scripted model's tokenizer: it reports the same counts."""

    basis: Basis = "tokenizer"
    least = 1.0


class ScriptedModel:
    """Returns `answers` in order, or calls `answers` with each request if it is a function."""

    context: int | None = None

    def __init__(
        self,
        answers: Sequence[Reply | ModelError] | Callable[[Request], Reply | ModelError],
        *,
        name: str = "scripted",
        capabilities: Capabilities | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        self.name = name
        self.capabilities = capabilities or Capabilities(grammar=True, completions=True, tools=True)
        self.counter: TokenCounter = counter or _OwnCount()
        self.requests: list[Request] = []
        self._answers = answers

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the model in a stream."""
        return {"provider": "scripted", "name": self.name, "counter": self.counter.name}

    async def ask(self, request: Request) -> Answer:
        self.requests.append(request)
        reply = self._reply(request)
        if isinstance(reply, ModelError):
            raise reply
        usage = Usage(prompt_tokens=count_tokens(self.counter, request))
        return _answer(reply, usage=usage)

    async def aclose(self) -> None:
        """Do nothing, because there are no connections."""

    def _reply(self, request: Request) -> Reply | ModelError:
        if callable(self._answers):
            return self._answers(request)
        if (number := len(self.requests)) > len(self._answers):
            raise ModelError(
                f"the script has {len(self._answers)} answers, but this is request {number}"
            )
        return self._answers[number - 1]


def _answer(reply: Reply, *, usage: Usage) -> Answer:
    if isinstance(reply, str):
        raw: dict[str, Any] = {"text": reply}
        return Answer(text=reply, usage=usage, finish_reason="stop", raw=raw)
    raw = {"call": {"tool": reply.tool, "args": reply.args}}
    return Answer(call=reply, usage=usage, finish_reason="tool_calls", raw=raw)
