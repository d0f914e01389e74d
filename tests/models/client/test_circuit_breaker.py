"""A server that fails several requests in a row is not asked for a while."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from remora.chat import Message
from remora.errors import ModelError
from remora.models.client.retry_policy import Failure, Reply, RequestLimits
from remora.models.client.server_address import parse_address
from remora.models.client.sync_http import FAILURES, PAUSE_S, CircuitBreaker
from remora.models.token_counters import ServerTokenizer
from tests.models.client.test_openai_client import CHAT, REQUEST, client_for, says

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
        breaker.record(BUSY, CHAT)
    return breaker


@pytest.mark.parametrize("result", [BUSY, httpx2.ReadTimeout("late"), httpx2.ConnectError("no")])
def test_requests_stop_after_failures_in_a_row(result: Failure) -> None:
    breaker = CircuitBreaker(Clock())
    for _ in range(FAILURES):
        breaker.check(ADDRESS)
        breaker.record(result, CHAT)
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1/v1 was not asked") as caught:
        breaker.check(ADDRESS)
    assert "remora retry" in caught.value.hint


@pytest.mark.parametrize("answer", [OK, REFUSED, LIMITED])
def test_any_answer_between_them_starts_the_count_again(answer: Reply) -> None:
    breaker = CircuitBreaker(Clock())
    for result in (BUSY, BUSY, answer, BUSY, BUSY):
        breaker.check(ADDRESS)
        breaker.record(result, CHAT)
    breaker.check(ADDRESS)


def test_after_the_pause_one_question_is_sent() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += PAUSE_S
    breaker.check(ADDRESS)  # to count the tokens of the question
    breaker.start_question(ADDRESS)
    with pytest.raises(ModelError):
        breaker.check(ADDRESS)
    with pytest.raises(ModelError):
        breaker.start_question(ADDRESS)
    breaker.record(OK, CHAT)
    breaker.start_question(ADDRESS)
    breaker.start_question(ADDRESS)


def test_of_two_threads_one_may_send_a_question_after_the_pause() -> None:
    class SlowClock(Clock):
        def __call__(self) -> float:
            time.sleep(0.05)  # lets the threads overlap
            return self.now

    clock = SlowClock()
    breaker = opened(clock)
    clock.now += PAUSE_S

    def may_send(_: int) -> bool:
        try:
            breaker.start_question(ADDRESS)
        except ModelError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(may_send, range(2))) == [False, True]


def test_if_that_fails_too_the_next_pause_begins() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += PAUSE_S
    breaker.start_question(ADDRESS)
    breaker.record(BUSY, CHAT)
    clock.now += PAUSE_S / 2
    with pytest.raises(ModelError):
        breaker.check(ADDRESS)


def test_both_ways_to_a_server_share_the_count(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = misbehaving.routes["/tokenize"] = canned(status=503)
    client = client_for(misbehaving.address, limits=ONCE)

    async def ask_twice() -> None:
        for _ in range(2):
            with pytest.raises(ModelError, match="returned status 503"):
                await client.ask(REQUEST)
        with pytest.raises(ModelError, match="returned status 503"):
            client.connection.post("/tokenize", {})
        sent = len(misbehaving.seen)
        with pytest.raises(ModelError, match="was not asked"):
            client.connection.post("/tokenize", {})
        assert len(misbehaving.seen) == sent == FAILURES
        await client.aclose()

    asyncio.run(ask_twice())


def test_a_server_that_counts_tokens_while_its_generation_hangs_is_not_asked(
    misbehaving: Any, canned: Any
) -> None:
    misbehaving.routes["/apply-template"] = canned(body={"prompt": "p"})
    misbehaving.routes["/tokenize"] = canned(body={"tokens": [1]})
    misbehaving.routes[CHAT] = canned(body=says("late"), delay_s=0.5)
    limits = RequestLimits(timeout_s=0.1, retries=0)
    client = client_for(misbehaving.address, limits=limits, context=1000)
    client.counter = ServerTokenizer("m", client.connection.post)

    async def ask() -> None:
        for number in range(FAILURES + 1):
            prompt = Message(role="user", content=f"question {number}")
            wanted = "was not asked" if number == FAILURES else "did not respond"
            with pytest.raises(ModelError, match=wanted):
                await client.ask(replace(REQUEST, messages=(prompt,)))
        await client.aclose()

    asyncio.run(ask())
    assert [one.path for one in misbehaving.seen].count(CHAT) == FAILURES


def test_a_server_that_recovers_is_used_again(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = [canned(status=503)] * FAILURES + [canned(body=says("hello"))]
    client, clock = client_for(misbehaving.address, limits=ONCE), Clock()
    client.connection.breaker = CircuitBreaker(clock)

    async def ask_until_it_answers() -> str:
        for _ in range(FAILURES):
            with pytest.raises(ModelError, match="returned status 503"):
                await client.ask(REQUEST)
        with pytest.raises(ModelError, match="was not asked"):
            await client.ask(REQUEST)
        clock.now += PAUSE_S
        answers = [await client.ask(REQUEST) for _ in range(2)]
        await client.aclose()
        return " ".join(answer.text for answer in answers)

    assert asyncio.run(ask_until_it_answers()) == "hello hello"
