"""Async client for OpenAI-compatible servers.

It uses llama.cpp's endpoints if they are available.
"""

import asyncio
import itertools
import json
import time
from datetime import UTC, datetime
from typing import Any

import httpx2
from msgspec.structs import replace

from remora.chat import Answer, answer_form
from remora.config.schema import ModelConfig
from remora.errors import ContextTooLarge, ModelError, RefusedRequest, UnparsedAnswer, undo_on_error
from remora.models.client import wire_format
from remora.models.client.accepted_keys import KeyTrial
from remora.models.client.answer_stream import WITH_USAGE, AnswerStream
from remora.models.client.http_errors import unusable_answer
from remora.models.client.retry_policy import (
    LONGEST_PAUSE_S,
    Failure,
    Reply,
    RequestLimits,
    Silence,
    next_pause,
    request_limits,
    retry_after_s,
)
from remora.models.client.server_address import Address
from remora.models.client.server_probe import ServerFacts, probe_server
from remora.models.client.sync_http import ServerConnection, open_http
from remora.models.protocol import Request, Strategy, TokenCounter, without_cache
from remora.models.token_counters import ServerTokenizer, UpperBound, UsageCounter

LOOPBACK_FACTOR = 5
"""Factor for the time until an answer begins on this machine: a CPU reads prompts slowly."""
_PROBE_S = 10.0


def connect(address: Address, settings: ModelConfig, key: str | None) -> ServerConnection:
    """Return a connection for probing a server and for counting tokens."""
    limits = request_limits(settings)
    limits = replace(limits, timeout_s=min(_PROBE_S, limits.timeout_s))
    return ServerConnection(address, key=key, limits=limits)


def open_client(
    address: Address, settings: ModelConfig, key: str | None, *, name: str | None
) -> "OpenAIClient":
    """Probe a server and return a client for its model. `name` selects one of several models.

    Raises ModelError if the server cannot be reached.
    """
    connection = connect(address, settings, key)
    with undo_on_error(connection.close):
        facts = probe_server(connection, name=name)
    limits = request_limits(settings)
    counter: TokenCounter = UsageCounter()
    if facts.capabilities.tokenize:
        counter = ServerTokenizer(facts.name, connection.post, llama=facts.llama)
    return OpenAIClient(connection, facts, counter, limits=limits, exact=settings.exact)


class OpenAIClient:
    """A client for one server, with its connection pool. It never exposes the API key.

    `connection` leads to the same server and is closed with the client. If `exact` is true, the
    prompt cache is not used.
    """

    def __init__(
        self,
        connection: ServerConnection,
        facts: ServerFacts,
        counter: TokenCounter,
        *,
        limits: RequestLimits,
        exact: bool,
    ) -> None:
        self.name = facts.name
        self.capabilities = facts.capabilities
        self.context = facts.context
        self.counter = counter
        self.connection = connection
        self._address = connection.address
        self._llama = facts.llama
        self._limits = limits
        self._exact = exact
        self._answered_by: dict[Strategy, str] = {}
        self._turns = asyncio.Semaphore(limits.max_concurrency)
        self._first_s = limits.timeout_s * (LOOPBACK_FACTOR if self._address.loopback else 1)
        self._pause: tuple[float, ModelError] | None = None
        """When the server takes requests again that has asked for a long pause, and its words."""
        self._http = open_http(httpx2.AsyncClient, self._address, connection.key, self._first_s)

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
        the request fails or another model answers than before. Bytes are no reason not to ask.
        """
        if self._exact:
            request = without_cache(request)
        await self._check_size(request)
        async with self._turns:
            if self._pause is not None and time.monotonic() < self._pause[0]:
                raise ModelError(self._pause[1].message, hint=self._pause[1].hint)
            try:
                answer = await self._ask(request)
            except wire_format.UnusableAnswer as error:
                raise unusable_answer(self._address, str(error)) from error
        self._check_model(request.decoding.strategy, wire_format.answering_model(answer.raw))
        if isinstance(self.counter, UsageCounter):
            self.counter.learn(count_tokens(UpperBound(), request), answer.usage.prompt_tokens)
        return answer

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        self.connection.close()

    async def _ask(self, request: Request) -> Answer:
        is_chat = request.prompt is None
        make = wire_format.chat_body if is_chat else wire_format.completion_body
        body = make(request, model=self.name, llama=self._llama)
        path = "/chat/completions" if is_chat else "/completions"
        url = f"{self._address.api}{path}"
        try:
            found, changed = await self._post(url, body)
        except UnparsedAnswer:  # ask for the same as text
            if not answer_form(request.decoding.strategy).declares_tools:
                raise
            found, changed = await self._post(url, body | {"tool_choice": "none"})
        answer = wire_format.read_choice(found)
        if answer.thinking:
            self.capabilities = replace(self.capabilities, thinks=True)
        return replace(answer, changed_keys=changed)

    def _check_model(self, strategy: Strategy, model: str) -> None:
        """Raise ModelError if the server names another model than in its first answer.

        The name may differ from the requested one, and between endpoints.
        """
        first = self._answered_by.setdefault(strategy, model)
        if model and first and model != first:
            raise ModelError(
                f"the model server at {self._address.shown} answers with the model {model!r}, "
                f"and answered with {first!r} before",
                hint=f"set {self._address.section}.name to one model, and repeat the jobs with "
                "`remora retry`",
            )

    async def _check_size(self, request: Request) -> None:
        if self.context is None or self.counter.basis == "bytes":
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

    async def _post(self, url: str, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Send a request with the keys that the server takes.

        Returns the JSON object in the response, and the keys that were changed.
        """
        trial, first = KeyTrial(self.connection.changed_keys, body | WITH_USAGE), None
        while True:
            try:
                found = await self._repeat(url, trial.sent)
            except RefusedRequest as error:
                first = first or error
                if not trial.refuse(error):
                    raise first from None
            else:
                return found, trial.accept()

    async def _repeat(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
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
                if isinstance(failure, Reply) and failure.status < 300:
                    return wire_format.decode_body(failure.body)
                refusal = self.connection.error_for(failure, self._limits.timeout_s)
                seconds = retry_after_s(failure, datetime.now(UTC)) or 0.0
                if seconds > LONGEST_PAUSE_S:
                    self._pause = time.monotonic() + seconds, refusal
                raise refusal
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _send(self, url: str, content: bytes) -> Reply:
        seconds, answer = self._first_s, AnswerStream()
        try:
            # httpx2 only limits each single read; this also stops a server that sends byte by byte
            async with (
                asyncio.timeout(seconds) as limit,
                self._http.stream("POST", url, content=content) as response,
            ):
                async for part in response.aiter_bytes():
                    if answer.add(part):
                        seconds = self._limits.timeout_s / 2
                        limit.reschedule(asyncio.get_running_loop().time() + seconds)
                return answer.reply(response.status_code, response.headers, generates=True)
        except TimeoutError as error:
            raise Silence(seconds) from error
        except httpx2.DecodingError as error:
            raise wire_format.UnusableAnswer("a body that cannot be decompressed") from error


def count_tokens(counter: TokenCounter, request: Request) -> int:
    """Count all tokens in the request, using `counter`."""
    if request.prompt is not None:
        return counter.count_text(request.prompt)
    return counter.count_messages(request.messages or (), request.decoding.tools)
