"""`NoModel`, which is used if there is no model.

In that case, rules take the first candidate of each turn.
"""

from typing import Any

from remora.errors import ModelError
from remora.models.protocol import Answer, Capabilities, Request, TokenCounter
from remora.models.token_counters import UpperBound

NAME = "none"
"""The recorded name of the model, and the value of `--model none`."""


class NoModel:
    """A `Model` that fails every request. Its `hint` explains how to add a model."""

    name = NAME
    context: int | None = None
    capabilities = Capabilities()

    def __init__(self, hint: str = "") -> None:
        self.hint = hint
        self.counter: TokenCounter = UpperBound()

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the model in a stream."""
        return {"provider": "none", "name": self.name, "counter": self.counter.name}

    async def ask(self, request: Request) -> Answer:  # noqa: ARG002 (signature of Model)
        raise ModelError("no model is available", hint=self.hint)

    async def aclose(self) -> None:
        """Do nothing, because there are no connections."""
