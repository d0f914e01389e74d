"""A model behind a configured address: the client, and a connection for counting."""

from typing import Any

from remora.models.client.openai_client import OpenAIClient, ServerFacts
from remora.models.client.retry_policy import Limits
from remora.models.client.server_probe import counter_for
from remora.models.client.sync_http import Door
from remora.models.protocol import Answer, Request, TokenCounter, without_cache


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
