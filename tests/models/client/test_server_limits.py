"""Limits of one process, and its token bucket."""

import asyncio

import pytest

from remora.models.client.server_limits import OwnLimits, Slot, TokenBucket, Use

A, B = "http://a/v1", "http://b/v1"
WAIT_S = 0.05


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def take(limits: OwnLimits, *servers: str, tokens: int = 0) -> str | None:
    """Return the server of a slot, or None if there is none for a while."""
    try:
        async with asyncio.timeout(WAIT_S):
            slot = await limits.take(servers, tokens)
    except TimeoutError:
        return None
    return None if slot is None else slot.server


def test_the_server_with_the_fewest_requests_is_taken_while_it_has_slots() -> None:
    async def run() -> list[str | None]:
        limits = OwnLimits(2, None)
        return [await take(limits, A, B) for _ in range(5)]

    assert asyncio.run(run()) == [A, B, A, B, None]


def test_a_slot_that_is_given_back_goes_to_one_that_waits() -> None:
    async def run() -> str | None:
        limits = OwnLimits(1, None)
        await take(limits, A)
        waiting = asyncio.ensure_future(take(limits, A))
        await asyncio.sleep(WAIT_S / 2)
        await limits.give_back(Slot(A), Use())
        return await waiting

    assert asyncio.run(run()) == A


def test_a_slot_goes_to_one_that_can_use_it() -> None:
    async def run() -> list[str | None]:
        limits = OwnLimits(1, None)
        await take(limits, A)
        await take(limits, B)
        waiting = [asyncio.ensure_future(take(limits, *servers)) for servers in ([A], [A, B])]
        await asyncio.sleep(WAIT_S / 2)
        await limits.give_back(Slot(B), Use())
        return [await each for each in waiting]

    assert asyncio.run(run()) == [None, B]


def test_tokens_are_counted_as_expected_and_then_as_used() -> None:
    clock = Clock()

    async def run() -> list[str | None]:
        limits = OwnLimits(9, 100, clock)
        found = [await take(limits, A, tokens=150), await take(limits, A)]
        await limits.give_back(Slot(A), Use(tokens=50))
        clock.now = 0.9
        found.append(await take(limits, A))
        clock.now = 1.1
        return [*found, await take(limits, A), await take(limits, B)]

    assert asyncio.run(run()) == [A, None, None, A, B]


def test_a_bucket_holds_the_tokens_of_one_second() -> None:
    clock = Clock()
    bucket = TokenBucket(100, clock)
    clock.now = 60.0
    assert bucket.pause == 0
    bucket.use(300)
    assert bucket.pause == pytest.approx(2.0)
    clock.now += 1.5
    assert bucket.pause == pytest.approx(0.5)
    clock.now += 0.6
    assert bucket.pause == 0


def test_without_a_limit_there_is_no_pause() -> None:
    bucket = TokenBucket(None, Clock())
    bucket.use(1_000_000)
    assert bucket.pause == 0
