"""No model at all: the first candidate of each turn is taken, as a rule decides."""

from typing import Any

from remora.errors import ModelError
from remora.models.protocol import Answer, Capabilities, Request, TokenCounter
from remora.models.token_counters import UpperBound

NAME = "none"
"""Recorded as the model's name, and accepted as `--model none`."""


class NoModel:
    """A `Model` that cannot be asked. `hint` says how to add one."""

    name = NAME
    context: int | None = None
    capabilities = Capabilities()

    def __init__(self, hint: str = "") -> None:
        self.hint = hint
        self.counter: TokenCounter = UpperBound()

    def describe(self) -> dict[str, Any]:
        """Return what the record says of it."""
        return {"provider": "none", "name": self.name, "counter": self.counter.name}

    async def ask(self, request: Request) -> Answer:  # noqa: ARG002 (a Model's)
        """Raise ModelError."""
        raise ModelError("there is no model to ask", hint=self.hint)

    async def aclose(self) -> None:
        """Release nothing."""
