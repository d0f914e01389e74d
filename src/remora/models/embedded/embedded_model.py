"""A model of the table `known_models`, served by a child process."""

import asyncio
import threading
from pathlib import Path
from typing import Any

from remora.chat import Answer
from remora.errors import ContextTooLarge, ModelError
from remora.models.client.openai_client import OpenAIClient
from remora.models.client.retry_policy import RequestLimits
from remora.models.client.server_address import parse_address
from remora.models.client.server_probe import ServerFacts
from remora.models.client.sync_http import ServerConnection
from remora.models.embedded import weights
from remora.models.embedded.known_models import DEFAULT, KnownModel
from remora.models.embedded.server_process import (
    RunningServer,
    ServerOptions,
    ServerProcess,
    usable_cores,
)
from remora.models.embedded.weights import CAPABILITIES, require_engine
from remora.models.protocol import Request
from remora.models.token_counters import ServerTokenizer

_CACHE_MIB = 256


class EmbeddedModel:
    """A `Model` whose server starts with the first request or token count.

    If `exact` is true, the prompt cache is disabled and only one request is sent at a time, so that
    identical requests with the same seed get the same answer. Raises ModelError if the engine or
    the weights are missing.
    """

    capabilities = CAPABILITIES

    def __init__(
        self, cache: Path, known: KnownModel = DEFAULT, *, exact: bool, limits: RequestLimits
    ) -> None:
        require_engine()
        self.name = known.name
        self.context: int | None = known.context
        self._known = known
        slots = 1 if exact else max(1, limits.max_concurrency)
        self._options = ServerOptions(
            weights=weights.require(cache, known),
            name=known.name,
            context=known.context,
            slots=slots,
            threads=usable_cores(),
            writers=min(known.writers, usable_cores()),
            cache_mib=0 if exact else _CACHE_MIB,
        )
        self._exact = exact
        # one retry, for a connection that the server has closed: a failed child is restarted
        self._limits = RequestLimits(timeout_s=limits.timeout_s, retries=1, max_concurrency=slots)
        self._process = ServerProcess(self._options)
        # by the server's start number: a call may still use a server that has ended
        self._clients: dict[int, OpenAIClient] = {}
        self._clients_lock = threading.Lock()
        self.counter = ServerTokenizer(self.name, self._post)

    @property
    def pid(self) -> int | None:
        """The process ID of the server, or None if it is not running."""
        return self._process.pid

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the model in a stream.

        The data is sufficient to repeat an exact run.
        """
        return {
            "provider": "embedded",
            "name": self.name,
            "sha256": self._known.sha256,
            "context": self.context,
            "threads": self._options.threads,
            "exact": self._exact,
            "counter": self.counter.name,
        }

    async def ask(self, request: Request) -> Answer:
        """Return the model's answer. Raises ModelError if the request fails.

        If the server has exited, it is restarted, but at most once per run.
        """
        while True:
            served = await asyncio.to_thread(self._process.ensure_running)
            try:
                return await self._client_for(served).ask(request)
            except ContextTooLarge:
                raise
            except ModelError:
                if not await asyncio.to_thread(self._process.has_ended, served):
                    raise

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        await asyncio.to_thread(self._process.close)

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request for the token counter. Can be called from any thread."""
        while True:
            served = self._process.ensure_running()
            try:
                return self._client_for(served).connection.post(path, body)
            except ModelError:
                if not self._process.has_ended(served):
                    raise

    def _client_for(self, served: RunningServer) -> OpenAIClient:
        with self._clients_lock:
            if served.start_number not in self._clients:
                address, limits = parse_address(served.address), self._limits
                self._clients[served.start_number] = OpenAIClient(
                    ServerConnection(address, key=served.key, limits=limits),
                    ServerFacts(
                        name=self.name, capabilities=CAPABILITIES, context=self.context, llama=True
                    ),
                    self.counter,
                    limits=limits,
                    exact=self._exact,
                )
            return self._clients[served.start_number]
