"""A model at one or more configured addresses."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec

from remora.errors import ModelError
from remora.models.client.circuit_breaker import not_asked
from remora.models.client.openai_client import ServerFacts
from remora.models.client.retry_policy import Failure, ServerFailed, is_failure, next_pause
from remora.models.client.server_address import Address, parse_address
from remora.models.client.server_limits import OwnLimits, ServerLimits, Slot, Use
from remora.models.client.server_probe import token_counter_for
from remora.models.client.shared_limits import SharedLimits, SharedSlots
from remora.models.client.sync_http import ServerConnection
from remora.models.client.wire_format import BYTES_PER_TOKEN
from remora.models.model_settings import ModelSettings, RequestLimits, request_limits
from remora.models.protocol import Answer, Request, TokenCounter, without_cache
from remora.models.remote_server import RemoteServer

_DISCOVERY_S = 0.3
_USUAL_PORTS = (8080, 11434, 1234, 8000)


def open_configured_model(
    addresses: Sequence[Address],
    settings: ModelSettings,
    api_key: str | None,
    *,
    name: str | None,
    shared: SharedSlots | None = None,
) -> "ConfiguredModel":
    """Probe the servers and return their model. `name` selects one of several models.

    Without `shared`, the limits are those of this process. Raises ModelError if no server can be
    reached, or if they have different models.
    """
    limits = request_limits(settings)
    servers = _servers(addresses, limits, api_key)
    try:
        facts = _common_facts(_probe_reachable(servers, name))
        own = OwnLimits(limits.max_concurrency, limits.tokens_per_second)
        gate = own if shared is None else SharedLimits(shared)
        return ConfiguredModel(servers, facts, gate=gate, limits=limits, exact=settings.exact)
    except BaseException:
        _close(servers)
        raise


def configured_model_facts(
    addresses: Sequence[Address], settings: ModelSettings, api_key: str | None
) -> dict[str, Any]:
    """Probe the servers and return their entries in the output of `model status --json`.

    Raises ModelError if one of them cannot be used.
    """
    servers = _servers(addresses, request_limits(settings), api_key)
    try:
        facts = _common_facts([server.probe(settings.name) for server in servers])
        for server in servers:
            server.compare(facts)
    finally:
        _close(servers)
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
    """A `Model` on one or more servers that present the same model.

    Each question goes to the server with the fewest requests. If a server fails, the next one is
    asked. If `exact` is true, the prompt cache is not used.
    """

    def __init__(
        self,
        servers: Sequence[RemoteServer],
        facts: ServerFacts,
        *,
        gate: ServerLimits,
        limits: RequestLimits,
        exact: bool,
    ) -> None:
        """Join the servers that were probed. Raises ServerFailed if they have different models."""
        self.name = facts.name
        self.capabilities = facts.capabilities
        self.context = facts.context
        self.counter: TokenCounter = token_counter_for(facts, self._post)
        self._servers = {server.name: server for server in servers}
        self._facts = facts
        self._gate = gate
        # a single server repeats requests, and several ones whole questions
        self._limits = limits if len(servers) > 1 else msgspec.structs.replace(limits, retries=0)
        self._exact = exact
        for server in servers:
            if server.is_probed:
                server.join(facts, self.counter)

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the model in a stream."""
        addresses = [server.address.shown for server in self._servers.values()]
        return {
            "provider": "openai",
            "base_url": addresses[0] if len(addresses) == 1 else addresses,
            "name": self.name,
            "context": self.context,
            "counter": self.counter.name,
        }

    async def ask(self, request: Request) -> Answer:
        """Send a request and return the answer.

        If all servers fail, they are asked again after pauses. Raises ContextTooLarge, before
        sending anything, if the request does not fit the context. Raises ModelError if the request
        fails.
        """
        if self._exact:
            request = without_cache(request)
        failure: Failure | None = None
        for attempt in count():
            try:
                return await self._ask_in_turn(request)
            except ServerFailed as error:
                failure = error.failure or failure
                if failure is None:
                    raise
                pause = next_pause(failure, attempt, self._limits, datetime.now(UTC))
                if pause is None:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def aclose(self) -> None:
        for server in self._servers.values():
            await server.aclose()
        await self._gate.aclose()

    async def _ask_in_turn(self, request: Request) -> Answer:
        """Ask each server until one answers. Raises ServerFailed if none does, and ModelError."""
        left = [name for name, server in self._servers.items() if not server.is_left_alone]
        error = not_asked(next(iter(self._servers.values())).address)
        tokens = _expected_tokens(request)
        while left:
            slot = await self._gate.take(left, tokens)
            if slot is None:
                break
            try:
                return await self._ask_server(slot, request, tokens)
            except ServerFailed as caught:
                error = caught
                left.remove(slot.server)
        raise error

    async def _ask_server(self, slot: Slot, request: Request, tokens: int) -> Answer:
        server, failed = self._servers[slot.server], None
        try:
            answer = await server.ask(request, self._facts, self.counter)
            failed = False
        except ServerFailed as error:
            failed = True if error.failure is not None and is_failure(error.failure) else None
            raise
        finally:
            used = server.take_tokens()
            await self._gate.give_back(slot, Use(tokens=used - tokens, failed=failed))
        return answer

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post to any of the servers, to count tokens. Can be called from any thread."""
        servers = list(self._servers.values())
        usable = [server for server in servers if server.is_usable] or servers[:1]
        for server in usable[:-1]:
            with suppress(ServerFailed):
                return server.post(path, body)
        return usable[-1].post(path, body)


def _servers(
    addresses: Sequence[Address], limits: RequestLimits, api_key: str | None
) -> list[RemoteServer]:
    has_others = len(addresses) > 1
    return [
        RemoteServer(address, key=api_key, limits=limits, has_others=has_others)
        for address in addresses
    ]


def _probe_reachable(servers: Sequence[RemoteServer], name: str | None) -> list[ServerFacts]:
    """Probe the servers. Raises ModelError if none can be reached, or if one of them refuses."""
    found, away = [], []
    for server in servers:
        try:
            found.append(server.probe(name))
        except ServerFailed as error:
            if error.lasts:
                raise
            away.append(error)
    if not found:
        raise away[0]
    return found


def _common_facts(found: Sequence[ServerFacts]) -> ServerFacts:
    """Return the facts of the model, with the smallest context of its servers."""
    contexts = [facts.context for facts in found]
    known = [context for context in contexts if context is not None]
    model = next((facts for facts in found if facts.name in facts.listed), found[0])
    return msgspec.structs.replace(model, context=min(known) if known == contexts else None)


def _expected_tokens(request: Request) -> int:
    """Estimate the tokens of a prompt. Those of the answer are added when they are known."""
    texts = [message.content for message in request.messages or ()]
    whole = "".join([*texts, request.prompt or ""])
    return len(whole.encode(errors="replace")) // BYTES_PER_TOKEN


def _close(servers: Sequence[RemoteServer]) -> None:
    for server in servers:
        server.close()
