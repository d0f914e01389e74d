"""A model behind a configured address: the client, and a connection for counting."""

from typing import Any

from remora.models.client import OpenAIClient, ServerFacts
from remora.models.door import Door
from remora.models.model import Answer, Request, TokenCounter, without_cache
from remora.models.probe import counter_for
from remora.models.retry import Limits


class RemoteModel:
    """A `Model` at an address that has been probed; `exact`: no prompt cache."""

    def __init__(
        self, door: Door, facts: ServerFacts, *, key: str | None, limits: Limits, exact: bool
    ) -> None:
        self.name = facts.name
        self.capabilities = facts.capabilities
        self.context = facts.context
        self.counter: TokenCounter = counter_for(facts, door.post)
        self._door = door
        self._exact = exact
        self._client = OpenAIClient(door.address, facts, self.counter, key=key, limits=limits)

    def describe(self) -> dict[str, Any]:
        """What identifies the model in the record."""
        return self._client.describe()

    async def ask(self, request: Request) -> Answer:
        """One answer. Raises ModelError; ContextTooLarge before a request that cannot fit."""
        if self._exact:
            request = without_cache(request)
        return await self._client.ask(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
        self._door.close()
