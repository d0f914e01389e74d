"""A server that fails several requests in a row is not asked for a while."""

import asyncio
from typing import Any

import httpx2
import pytest

from remora.errors import ModelError
from remora.models.client.circuit_breaker import FAILURES, PAUSE_S, CircuitBreaker
from remora.models.client.openai_client import OpenAIClient, ServerFacts
from remora.models.client.retry_policy import Failure, Reply
from remora.models.client.server_address import parse_address
from remora.models.client.sync_http import ServerConnection
from remora.models.model_settings import RequestLimits
from remora.models.protocol import Capabilities
from remora.models.token_counters import UpperBound
from tests.models.client.test_openai_client import CHAT, REQUEST, says

ADDRESS = parse_address("http://127.0.0.1:1/v1")
BUSY, REFUSED, LIMITED, OK = (Reply(status, None, b"{}") for status in (503, 401, 429, 200))
ONCE = RequestLimits(timeout_s=5, retries=0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> CircuitBreaker:
    breaker = CircuitBreaker(clock)
    for _ in range(FAILURES):
        breaker.check(ADDRESS)
        breaker.record(BUSY)
    return breaker


@pytest.mark.parametrize("result", [BUSY, httpx2.ReadTimeout("late"), httpx2.ConnectError("no")])
def test_requests_stop_after_failures_in_a_row(result: Failure) -> None:
    breaker = CircuitBreaker(Clock())
    for _ in range(FAILURES):
        breaker.check(ADDRESS)
        breaker.record(result)
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1/v1 was not asked") as caught:
        breaker.check(ADDRESS)
    assert "remora retry" in caught.value.hint


@pytest.mark.parametrize("answer", [OK, REFUSED, LIMITED])
def test_any_answer_between_them_starts_the_count_again(answer: Reply) -> None:
    breaker = CircuitBreaker(Clock())
    for result in (BUSY, BUSY, answer, BUSY, BUSY):
        breaker.check(ADDRESS)
        breaker.record(result)
    breaker.check(ADDRESS)


def test_after_the_pause_one_request_is_sent() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += PAUSE_S
    breaker.check(ADDRESS)
    with pytest.raises(ModelError):
        breaker.check(ADDRESS)
    breaker.record(OK)
    breaker.check(ADDRESS)


def test_if_that_fails_too_the_next_pause_begins() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += PAUSE_S
    breaker.check(ADDRESS)
    breaker.record(BUSY)
    clock.now += PAUSE_S / 2
    with pytest.raises(ModelError):
        breaker.check(ADDRESS)


def test_both_ways_to_a_server_share_the_count(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = misbehaving.routes["/tokenize"] = canned(status=503)
    address = parse_address(misbehaving.address)
    connection = ServerConnection(address, key=None, limits=ONCE)
    facts = ServerFacts(name="m", capabilities=Capabilities(), context=None, llama=False)

    async def ask_twice() -> None:
        client = OpenAIClient(
            address, facts, UpperBound(), key=None, limits=ONCE, breaker=connection.breaker
        )
        for _ in range(2):
            with pytest.raises(ModelError, match="returned status 503"):
                await client.ask(REQUEST)
        await client.aclose()

    asyncio.run(ask_twice())
    with pytest.raises(ModelError, match="returned status 503"):
        connection.post("/tokenize", {})
    sent = len(misbehaving.seen)
    with pytest.raises(ModelError, match="was not asked"):
        connection.post("/tokenize", {})
    assert len(misbehaving.seen) == sent == FAILURES
    connection.close()


def test_a_server_that_recovers_is_used_again(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = [canned(status=503), canned(status=503), canned(body=says("hello"))]
    address, clock = parse_address(misbehaving.address), Clock()
    facts = ServerFacts(name="m", capabilities=Capabilities(), context=None, llama=False)

    async def ask_three_times() -> str:
        breaker = CircuitBreaker(clock)
        client = OpenAIClient(address, facts, UpperBound(), key=None, limits=ONCE, breaker=breaker)
        for _ in range(2):
            with pytest.raises(ModelError):
                await client.ask(REQUEST)
        answer = await client.ask(REQUEST)
        await client.aclose()
        return answer.text

    assert asyncio.run(ask_three_times()) == "hello"
