"""A model at a configured address.

It has an async client for requests, and a synchronous connection for counting tokens.
"""

from typing import Any

import msgspec

from remora.errors import ModelError
from remora.models.client.openai_client import OpenAIClient, ServerFacts
from remora.models.client.server_address import Address, parse_address
from remora.models.client.server_probe import probe_server, token_counter_for
from remora.models.client.sync_http import ServerConnection
from remora.models.model_settings import ModelSettings, RequestLimits, request_limits
from remora.models.protocol import Answer, Request, TokenCounter, without_cache

_PROBE_S = 10.0
_DISCOVERY_S = 0.3
_USUAL_PORTS = (8080, 11434, 1234, 8000)


def open_configured_model(
    address: Address, settings: ModelSettings, api_key: str | None, *, name: str | None
) -> "ConfiguredModel":
    """Probe the server and return its model. `name` selects one of several models.

    Raises ModelError if the server cannot be reached.
    """
    limits = request_limits(settings)
    connection, facts = _probe(address, settings, api_key, name)
    return ConfiguredModel(connection, facts, key=api_key, limits=limits, exact=settings.exact)


def configured_model_facts(
    address: Address, settings: ModelSettings, api_key: str | None
) -> dict[str, Any]:
    """Probe the server and return its entries in the output of `model status --json`."""
    connection, facts = _probe(address, settings, api_key, settings.name)
    connection.close()
    return {
        "name": facts.name,
        "reachable": True,
        "context": facts.context,
        "capabilities": msgspec.to_builtins(facts.capabilities),
    }


def find_local_servers() -> list[str]:
    """Return the addresses of model servers found on common local ports."""
    found = []
    for port in _USUAL_PORTS:
        address = parse_address(f"http://127.0.0.1:{port}/v1")
        connection = ServerConnection(
            address, key=None, limits=RequestLimits(timeout_s=_DISCOVERY_S)
        )
        try:
            answer = connection.request_once("GET", f"{address.api}/models")
        except ModelError:
            continue
        finally:
            connection.close()
        if isinstance(answer, dict) and isinstance(answer.get("data"), list):
            found.append(address.api)
    return found


class ConfiguredModel:
    """A `Model` on a server that has been probed.

    If `exact` is true, the prompt cache is not used.
    """

    def __init__(
        self,
        connection: ServerConnection,
        facts: ServerFacts,
        *,
        key: str | None,
        limits: RequestLimits,
        exact: bool,
    ) -> None:
        self.name = facts.name
        self.capabilities = facts.capabilities
        self.context = facts.context
        self.counter: TokenCounter = token_counter_for(facts, connection.post)
        self._connection = connection
        self._exact = exact
        self._client = OpenAIClient(
            connection.address,
            facts,
            self.counter,
            key=key,
            limits=limits,
            breaker=connection.breaker,
        )

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the model in a stream."""
        return self._client.describe()

    async def ask(self, request: Request) -> Answer:
        """Send a request and return the answer.

        Raises ContextTooLarge, before sending anything, if the request does not fit the context.
        Raises ModelError if the request fails.
        """
        if self._exact:
            request = without_cache(request)
        return await self._client.ask(request)

    async def aclose(self) -> None:
        await self._client.aclose()
        self._connection.close()


def _probe(
    address: Address, settings: ModelSettings, api_key: str | None, name: str | None
) -> tuple[ServerConnection, ServerFacts]:
    limits = RequestLimits(timeout_s=min(_PROBE_S, settings.timeout_s), retries=settings.retries)
    connection = ServerConnection(address, key=api_key, limits=limits)
    try:
        return connection, probe_server(connection, name=name)
    except BaseException:
        connection.close()
        raise
