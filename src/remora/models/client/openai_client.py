"""Async client for OpenAI-compatible servers.

It uses llama.cpp's endpoints if they are available.
"""

import asyncio
import itertools
import json
from datetime import UTC, datetime
from typing import Any

import httpx2
import msgspec

from remora.errors import ContextTooLarge, ModelError
from remora.models.client import wire_format
from remora.models.client.circuit_breaker import CircuitBreaker
from remora.models.client.http_errors import server_failure, unusable_answer
from remora.models.client.retry_policy import Failure, Reply, ServerFailed, next_pause
from remora.models.client.server_address import Address
from remora.models.client.sync_http import LARGEST_BODY, authorization
from remora.models.model_settings import RequestLimits
from remora.models.protocol import Answer, Capabilities, Request, Strategy, TokenCounter


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The result of probing a server.

    `llama` is True if the server has llama.cpp's additional endpoints. `listed` contains the names
    of its models.
    """

    name: str
    capabilities: Capabilities
    context: int | None
    llama: bool
    listed: tuple[str, ...] = ()


class OpenAIClient:
    """A client for one server, with its connection pool. It never exposes the API key."""

    def __init__(
        self,
        address: Address,
        facts: ServerFacts,
        counter: TokenCounter,
        *,
        key: str | None,
        limits: RequestLimits,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self.name = facts.name
        self.capabilities = facts.capabilities
        self.context = facts.context
        self.counter = counter
        self._address = address
        self._llama = facts.llama
        self._key = key
        self._limits = limits
        self._breaker = breaker or CircuitBreaker()
        self._answered_by: dict[Strategy, str] = {}
        self._tokens = 0
        self._turns = asyncio.Semaphore(limits.max_concurrency)
        self._http = httpx2.AsyncClient(
            headers=authorization(key),
            timeout=limits.timeout_s,
            # requests to this machine must not go through a proxy set in the environment
            trust_env=not address.loopback,
        )

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the model in a stream."""
        return {
            "provider": "openai",
            "base_url": self._address.shown,
            "name": self.name,
            "context": self.context,
            "counter": self.counter.name,
        }

    async def ask(self, request: Request) -> Answer:
        """Send a request and return the answer, decoded according to the request's strategy.

        Raises ContextTooLarge if the request does not fit the model's context, and ModelError if
        the request fails or another model answers than before.
        """
        await self._check_size(request)
        async with self._turns:
            self._breaker.start_question(self._address)
            try:
                answer = await self._ask(request)
            except wire_format.UnusableAnswer as error:
                raise unusable_answer(self._address, str(error)) from error
        self._check_model(request.decoding.strategy, answer.model)
        return answer

    def take_tokens(self) -> int:
        """Return the number of tokens that were used since the last call.

        If the server does not count them, four bytes are a token.
        """
        tokens, self._tokens = self._tokens, 0
        return tokens

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, request: Request) -> Answer:
        if request.prompt is None:
            body = wire_format.chat_body(request, model=self.name, llama=self._llama)
            return wire_format.read_choice(await self._post(f"{self._api}/chat/completions", body))
        body = wire_format.completion_body(request, model=self.name, llama=self._llama)
        return wire_format.read_choice(await self._post(f"{self._api}/completions", body))

    @property
    def _api(self) -> str:
        return self._address.api

    def _check_model(self, strategy: Strategy, model: str) -> None:
        """Raise ModelError if the server names another model than in its first answer.

        The name may differ from the requested one, and between endpoints.
        """
        first = self._answered_by.setdefault(strategy, model)
        if model and first and model != first:
            raise ServerFailed(
                f"the model server at {self._address.shown} answers with the model {model!r}, "
                f"and answered with {first!r} before",
                hint=f"set {self._address.section}.name to one model, and repeat the jobs with `remora retry`",
                lasts=True,
            )

    async def _check_size(self, request: Request) -> None:
        if self.context is None:
            return
        # counting may call the server synchronously
        counted = await asyncio.to_thread(count_tokens, self.counter, request)
        wanted = request.decoding.max_tokens
        if counted + wanted > self.context:
            raise ContextTooLarge(
                f"a request of {counted} tokens and a response of up to {wanted} do not fit in "
                f"the context of {self.name} ({self.context} tokens)",
                hint="lower runner.memory.packet_size_limit, "
                "or serve the model with a larger context",
            )

    async def _post(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request, with retries, and return the JSON object in the response."""
        # escaped as ASCII, so that a lone surrogate reaches the server instead of failing here
        content = json.dumps(body).encode("ascii")
        for attempt in itertools.count():
            failure: Failure
            try:
                failure = await self._send(url, content)
            except httpx2.TransportError as error:
                failure = error
            pause = next_pause(failure, attempt, self._limits, datetime.now(UTC))
            if pause is None:
                self._breaker.record(failure, url)
                if isinstance(failure, Reply) and failure.status < 300:
                    found = wire_format.decode_body(failure.body)
                    self._tokens += wire_format.used_tokens(found, len(content) + len(failure.body))
                    return found
                raise self._failed(failure)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _send(self, url: str, content: bytes) -> Reply:
        headers = {"Content-Type": "application/json"}
        try:
            # httpx2 only limits each single read; this also stops a server that sends byte by byte
            async with (
                asyncio.timeout(self._limits.timeout_s),
                self._http.stream("POST", url, content=content, headers=headers) as response,
            ):
                body = bytearray()
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > LARGEST_BODY:
                        raise wire_format.UnusableAnswer(f"more than {LARGEST_BODY} bytes")
                return Reply(response.status_code, response.headers.get("Retry-After"), bytes(body))
        except TimeoutError as error:
            raise httpx2.ReadTimeout("timed out") from error
        except httpx2.DecodingError as error:
            raise wire_format.UnusableAnswer("a body that cannot be decompressed") from error

    def _failed(self, failure: Failure) -> ModelError:
        limit = self._limits.timeout_s
        return server_failure(failure, self._address, key=self._key, timeout_s=limit)


def count_tokens(counter: TokenCounter, request: Request) -> int:
    """Count all tokens in the request, using `counter`."""
    if request.prompt is not None:
        return counter.count_text(request.prompt)
    return counter.count_messages(request.messages or (), request.decoding.tools)
