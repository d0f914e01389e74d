"""Token counters that do not need a model server."""

import math

import msgspec

from remora.chat import Message, ToolSchema
from remora.memory.events import AgentStart, ModelRequest
from remora.models.protocol import TokenCounter
from remora.models.token_counters import Basis, UpperBound

_GUESSED = 0.5


class EstimatedCounter:
    """Estimates token counts by multiplying the number of UTF-8 bytes by a ratio and rounding up.

    The ratio is measured on recorded requests that were counted by the same tokenizer. If there are
    no such requests, the ratio is one half, as in `ContextManager`.
    """

    basis: Basis = "usage"
    least = 0.0

    def __init__(self, of: str, tokens: int = 0, size: int = 0) -> None:
        """Create an estimate for the token counter named `of`.

        `tokens` is the total for recorded requests of `size` bytes. Both are zero if there are no
        requests.
        """
        known = tokens > 0 and size > 0
        self.rate = tokens / size if known else _GUESSED
        how = f"{tokens} tokens in {size} recorded bytes" if known else "a guess"
        self.name = f"estimate of {of or 'an unknown counter'}: {self.rate:.3f} per byte, {how}"

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        return self._tokens(messages_size(messages) + tools_size(tools))

    def count_text(self, prompt: str) -> int:
        return self._tokens(len(prompt.encode()))

    def _tokens(self, size: int) -> int:
        return math.ceil(size * self.rate)


def messages_size(messages: tuple[Message, ...]) -> int:
    """Return the total size of the message contents in UTF-8 bytes."""
    return sum(len(message.content.encode()) for message in messages)


def tools_size(tools: tuple[ToolSchema, ...]) -> int:
    """Return the size of natively declared tools in UTF-8 bytes."""
    return len(msgspec.json.encode(tools)) if tools else 0


class TokenRates:
    """Tokens per byte for each tokenizer, measured on recorded requests."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}

    def add_request(self, counter: str, request: ModelRequest) -> None:
        tokens, size = self._seen.get(counter, (0, 0))
        self._seen[counter] = tokens + request.prompt_tokens, size + _size(request)

    def counter(self, start: AgentStart) -> TokenCounter:
        """Return the agent's token counter if it does not need a server, otherwise an estimate."""
        if start.counter == UpperBound.name:
            return UpperBound()
        return EstimatedCounter(start.counter, *self._seen.get(start.counter, ()))


def _size(request: ModelRequest) -> int:
    if request.messages is None:
        return len((request.prompt or "").encode())
    texts = sum(len(str(message.get("content", "")).encode()) for message in request.messages)
    tools = request.decoding.get("tools")
    return texts + (len(msgspec.json.encode(tools)) if tools else 0)
