"""One of the servers of a configured model."""

import asyncio
import socket
from typing import Any

from msgspec.structs import replace

from remora.models.client.circuit_breaker import not_asked
from remora.models.client.openai_client import OpenAIClient, ServerFacts
from remora.models.client.retry_policy import ServerFailed
from remora.models.client.server_address import Address
from remora.models.client.server_probe import (
    difference,
    lacks_model,
    listed_models,
    probe_server,
)
from remora.models.client.sync_http import ServerConnection
from remora.models.model_settings import RequestLimits
from remora.models.protocol import Answer, Request, TokenCounter

_PROBE_S = 10.0


class RemoteServer:
    """A server that may be away, or come back with another model.

    It has an async client for questions, and a synchronous connection for counting tokens. Both
    share a circuit breaker. If the model has other servers, a server that cannot be used is left
    alone for a while, too.
    """

    def __init__(
        self, address: Address, *, key: str | None, limits: RequestLimits, has_others: bool
    ) -> None:
        # another server is asked instead
        limits = replace(limits, retries=0) if has_others else limits
        self.address = address
        self._key = key
        self._limits = limits
        self._has_others = has_others
        self._connection = ServerConnection(
            address, key=key, limits=replace(limits, timeout_s=min(_PROBE_S, limits.timeout_s))
        )
        self._breaker = self._connection.breaker
        self._facts: ServerFacts | None = None
        self._client: OpenAIClient | None = None

    @property
    def name(self) -> str:
        """The server's name for limits. An address of this machine is only valid here."""
        shown = self.address.shown
        return f"{socket.gethostname()} {shown}" if self.address.loopback else shown

    @property
    def is_probed(self) -> bool:
        return self._facts is not None

    @property
    def is_left_alone(self) -> bool:
        return self._breaker.is_open

    @property
    def is_usable(self) -> bool:
        """True if the server was probed, has the right model, and is not left alone."""
        return self._client is not None and not self.is_left_alone

    def probe(self, name: str | None) -> ServerFacts:
        """Return the server's model and capabilities. Raises ModelError."""
        self._facts = probe_server(self._connection, name=name)
        return self._facts

    def compare(self, facts: ServerFacts) -> None:
        """Raise ServerFailed if this server, which was probed, has another model than `facts`."""
        assert self._facts is not None, "the server was probed"
        differs = difference(facts, self._facts)
        if differs:
            raise self._other_model(differs)

    def join(self, facts: ServerFacts, counter: TokenCounter) -> None:
        """Let a server that was probed answer questions for the model with `facts`.

        Raises ServerFailed if it has another model.
        """
        self.compare(facts)
        self._client = OpenAIClient(
            self.address,
            facts,
            counter,
            key=self._key,
            limits=self._limits,
            breaker=self._breaker,
        )

    async def ask(self, request: Request, facts: ServerFacts, counter: TokenCounter) -> Answer:
        """Send a question. A server that was away is examined first.

        Raises ServerFailed if it failed or has another model than `facts`, and ModelError.
        """
        try:
            if self._client is None or self._breaker.has_tripped:
                await asyncio.to_thread(self._examine, facts, counter)
            assert self._client is not None, "the server has joined"
            return await self._client.ask(request)
        except ServerFailed as error:
            if error.lasts and self._has_others:
                self._breaker.trip()
            raise

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post JSON to an endpoint that does not generate text. Raises ModelError."""
        return self._connection.post(path, body)

    def take_tokens(self) -> int:
        """Return the number of tokens that were used since the last call."""
        return 0 if self._client is None else self._client.take_tokens()

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
        self.close()

    def close(self) -> None:
        """Close the synchronous connection."""
        self._connection.close()

    def _examine(self, facts: ServerFacts, counter: TokenCounter) -> None:
        if self.is_left_alone:
            raise not_asked(self.address)
        try:
            if self._client is None:
                self.probe(facts.name)
                self.join(facts, counter)
            elif lacks_model(facts, listed := listed_models(self._connection)):
                raise self._other_model(f"has the model {listed[0]}, not {facts.name}")
        except ServerFailed as error:
            if error.failure is not None:
                self._breaker.record(error.failure, "")
            raise

    def _other_model(self, differs: str) -> ServerFailed:
        section = self.address.section
        return ServerFailed(
            f"the model server at {self.address.shown} {differs}",
            hint=f"use the same model, context and server program at all addresses of "
            f"{section}.base_url, and repeat the jobs with `remora retry`",
            lasts=True,
        )
