"""One client for every OpenAI-compatible server, with llama.cpp's own endpoints where it has them."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec

from remora.errors import ContextTooLarge, ModelError
from remora.models import wire
from remora.models.address import Address
from remora.models.model import Answer, Capabilities, Request, TokenCounter
from remora.models.refusal import refusal, unusable
from remora.models.retry import RETRIED, pause_s

LARGEST_BODY = 16 * 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How patient the client is. `timeout_s` is for one attempt, from sending to the last byte."""

    timeout_s: float = 60.0
    retries: int = 4
    max_concurrency: int = 2
    backoff_s: float = 0.5


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a server; see `probe`. `llama`: it speaks llama.cpp's own protocol."""

    name: str
    capabilities: Capabilities
    context: int | None
    llama: bool


class OpenAIClient:
    """Asks one server. Holds the connection pool and the key, which it never shows."""

    def __init__(
        self,
        address: Address,
        facts: ServerFacts,
        counter: TokenCounter,
        *,
        key: str | None,
        limits: Limits,
    ) -> None:
        self.name = facts.name
        self.capabilities = facts.capabilities
        self.context = facts.context
        self.counter = counter
        self._address = address
        self._llama = facts.llama
        self._key = key
        self._limits = limits
        self._turns = asyncio.Semaphore(limits.max_concurrency)
        self._http = httpx.AsyncClient(
            headers=authorization(key),
            timeout=limits.timeout_s,
            # a proxy of the environment must never see what is meant for this machine
            trust_env=not address.loopback,
        )

    def describe(self) -> dict[str, Any]:
        """What identifies the model in the record."""
        return {
            "provider": "openai",
            "base_url": self._address.shown,
            "name": self.name,
            "context": self.context,
            "counter": self.counter.name,
        }

    async def ask(self, request: Request) -> Answer:
        """One answer by the request's strategy. Raises ModelError or ContextTooLarge."""
        await self._check_size(request)
        async with self._turns:
            try:
                return await self._ask(request)
            except wire.Unusable as error:
                raise unusable(self._address.shown, str(error)) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, request: Request) -> Answer:
        if request.decoding.strategy == "rank":
            return await self._rank(request)
        if request.prompt is None:
            body = wire.chat_body(request, model=self.name, llama=self._llama)
            return wire.read_choice(await self._post(f"{self._api}/chat/completions", body))
        body = wire.completion_body(request, model=self.name, llama=self._llama)
        return wire.read_choice(await self._post(f"{self._api}/completions", body))

    async def _rank(self, request: Request) -> Answer:
        if not self.capabilities.rank:
            raise ModelError(
                f"the model server at {self._address.shown} cannot rank candidates",
                hint="set model.decoding to grammar or tool_call, or serve it with llama.cpp",
            )
        prompt = request.prompt
        if prompt is None:
            messages = {"messages": msgspec.to_builtins(list(request.messages or ()))}
            prompt = (await self._post(f"{self._root}/apply-template", messages)).get("prompt")
        if not isinstance(prompt, str):
            raise wire.Unusable("no prompt in the answer to /apply-template")
        body = wire.rank_body(prompt, request.decoding)
        answer = await self._post(f"{self._root}/completion", body)
        return wire.read_rank(answer, request.decoding.labels)

    @property
    def _api(self) -> str:
        return self._address.api

    @property
    def _root(self) -> str:
        return self._address.root or self._address.api

    async def _check_size(self, request: Request) -> None:
        if self.context is None:
            return
        # counting may ask the server, synchronously
        counted = await asyncio.to_thread(count, self.counter, request)
        wanted = 1 if request.decoding.strategy == "rank" else request.decoding.max_tokens
        if counted + wanted > self.context:
            raise ContextTooLarge(
                f"a request of {counted} tokens and an answer of up to {wanted} do not fit "
                f"the {self.context} tokens of {self.name}",
                hint="lower runner.memory.packet_size_limit, "
                "or serve the model with a larger context",
            )

    async def _post(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send until answered, refused for good, or `retries` more attempts have failed."""
        # escaped, so that a lone surrogate reaches the server's judgement and not our encoder
        content = json.dumps(body).encode("ascii")
        for attempt in range(self._limits.retries + 1):
            last = attempt == self._limits.retries
            try:
                status, after, answer = await self._send(url, content)
            except httpx.TransportError as error:
                if last or not isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
                    raise self._unreachable(error) from error
                after = None
            else:
                if status < 300:
                    return self._decoded(answer)
                if last or status not in RETRIED:
                    raise refusal(status, answer, shown=self._address.shown, key=self._key)
            now = datetime.now(UTC)
            base_s = self._limits.backoff_s
            await asyncio.sleep(pause_s(attempt, retry_after=after, now=now, base_s=base_s))
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _send(self, url: str, content: bytes) -> tuple[int, str | None, bytes]:
        headers = {"Content-Type": "application/json"}
        try:
            # httpx limits each read; a server that drips bytes is stopped only by this
            async with (
                asyncio.timeout(self._limits.timeout_s),
                self._http.stream("POST", url, content=content, headers=headers) as response,
            ):
                parts = bytearray()
                async for part in response.aiter_bytes():
                    parts += part
                    if len(parts) > LARGEST_BODY:
                        raise wire.Unusable(f"more than {LARGEST_BODY} bytes")
                return response.status_code, response.headers.get("Retry-After"), bytes(parts)
        except TimeoutError as error:
            raise httpx.ReadTimeout("no answer in time") from error
        except httpx.DecodingError as error:
            raise wire.Unusable("a body that cannot be decompressed") from error

    def _decoded(self, body: bytes) -> dict[str, Any]:
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise wire.Unusable("not JSON") from error
        if not isinstance(value, dict):
            raise wire.Unusable("not a JSON object")
        return value

    def _unreachable(self, error: httpx.TransportError) -> ModelError:
        return unreachable(error, shown=self._address.shown, timeout_s=self._limits.timeout_s)


def count(counter: TokenCounter, request: Request) -> int:
    """Tokens of a whole request by `counter`."""
    if request.prompt is not None:
        return counter.count_text(request.prompt)
    tools = request.decoding.tools if request.decoding.strategy == "tool_call" else ()
    return counter.count_messages(request.messages or (), tools)


def authorization(key: str | None) -> dict[str, str]:
    """The header that carries the key."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def unreachable(error: httpx.TransportError, *, shown: str, timeout_s: float) -> ModelError:
    """The error for a server that did not answer at all, or not in time."""
    if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
        return ModelError(
            f"the model server at {shown} did not answer within {timeout_s:g} s",
            hint="raise model.timeout_s, or lower model.max_concurrency",
        )
    why = "it did not accept a connection in time"
    if not isinstance(error, httpx.TimeoutException):
        why = " ".join(str(error).split())[:200] or "the connection broke"
    return ModelError(
        f"cannot reach the model server at {shown}: {why}",
        hint="start the server or correct model.base_url; without one the embedded model is used",
    )
