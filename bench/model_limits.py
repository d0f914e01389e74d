"""Limits of model servers that processes share, against those of one process."""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.bootstrap.model_slots import ModelSlots
from remora.models.client.server_limits import OwnLimits, ServerLimits, Use
from remora.models.client.shared_limits import SharedLimits
from remora.models.model_settings import RequestLimits
from remora.trace.postgres.database import Database
from tests.postgres_server import MISSING, PostgresServer, find_programs

SERVERS = ("http://a/v1", "http://b/v1")
REQUEST_S = 0.05
REQUESTS = 100
PROCESSES = 8
LIMIT = 4
ROUNDS = 5
DONE = Use(failed=False)


def main() -> dict[str, float]:
    """Return the time of a request of 50 ms, and of waiting ones, with shared limits over own."""
    if find_programs() is None:
        print(f"left out: {MISSING}")
        return {}
    server = PostgresServer().start()
    try:
        database = Database(server.dsn())
        database.open()
        database.close()
        return {"a request": _requests(server.dsn()), "a full server": _crowd(server.dsn())}
    finally:
        server.remove()


def _requests(dsn: str) -> float:
    """Return the ratio of the times of requests that need not wait, and print what they add."""
    times: dict[str, list[float]] = {"own": [], "shared": []}
    for _ in range(ROUNDS):
        times["own"].append(_timed(lambda: OwnLimits(LIMIT, 100_000), _one_by_one))
        times["shared"].append(_timed(lambda: _shared(dsn, 100_000), _one_by_one))
    own, shared = (statistics.median(found) / REQUESTS for found in times.values())
    print(f"{(shared - own) * 1000:.1f} ms more for each request of {REQUEST_S * 1000:.0f} ms")
    return shared / own


def _crowd(dsn: str) -> float:
    """Return the ratio of the times of 8 processes at a server that is always full to the ideal."""
    times = [_timed_crowd(dsn) for _ in range(ROUNDS)]
    ideal = PROCESSES * REQUESTS / LIMIT * REQUEST_S
    ratio = statistics.median(times) / ideal
    print(f"{PROCESSES} processes, a limit of {LIMIT}: {ratio:.2f} of the ideal time")
    return ratio


def _timed_crowd(dsn: str) -> float:
    def process(_: int) -> None:
        _timed(lambda: _shared(dsn, None), _one_by_one_at_the_first)

    begun = time.perf_counter()
    with ThreadPoolExecutor(PROCESSES) as threads:
        list(threads.map(process, range(PROCESSES)))
    return time.perf_counter() - begun


def _shared(dsn: str, rate: int | None) -> ServerLimits:
    limits = RequestLimits(max_concurrency=LIMIT, tokens_per_second=rate)
    return SharedLimits(ModelSlots(Database(dsn), limits))


def _timed(
    opened: Callable[[], ServerLimits], work: Callable[[ServerLimits], Awaitable[None]]
) -> float:
    async def run() -> float:
        limits = opened()
        begun = time.perf_counter()
        await work(limits)
        seconds = time.perf_counter() - begun
        await limits.aclose()
        return seconds

    return asyncio.run(run())


async def _one_by_one(limits: ServerLimits) -> None:
    await _requests_to(limits, SERVERS)


async def _one_by_one_at_the_first(limits: ServerLimits) -> None:
    await _requests_to(limits, SERVERS[:1])


async def _requests_to(limits: ServerLimits, servers: tuple[str, ...]) -> None:
    for _ in range(REQUESTS):
        slot = await limits.take(servers, 100)
        assert slot is not None
        await asyncio.sleep(REQUEST_S)
        await limits.give_back(slot, DONE)
