"""Limits for the requests to model servers, which belong to a server's address."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec


class Slot(NamedTuple):
    """The right to send a request to a server.

    `owner` tells it apart from other rights to the same `number`.
    """

    server: str
    number: int = 0
    owner: int = 0


class Use(msgspec.Struct, frozen=True):
    """What was done with a slot.

    `tokens` is the number of tokens that were used, less those that were expected. `failed` is None
    if the server was not asked, or refused the request.
    """

    tokens: int = 0
    failed: bool | None = None


class ServerLimits(Protocol):
    """Hands out slots, so that no server gets more requests or tokens than it may."""

    async def take(self, servers: Sequence[str], tokens: int) -> Slot | None:
        """Wait for a slot at one of `servers`, at that with the fewest requests.

        `tokens` is the number of tokens that the request is expected to use. Returns None if all
        of the servers are known to fail.
        """

    async def give_back(self, slot: Slot, use: Use) -> None:
        """Return a slot."""

    async def aclose(self) -> None:
        """Close all connections."""


class TokenBucket:
    """The tokens that may be used now.

    A request starts if there are any. Its tokens may be more than that, so that a large one starts,
    too; the following requests wait until the excess is made up for.
    """

    def __init__(self, per_second: int | None, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._clock = clock
        self._tokens = float(per_second or 0)
        self._filled = clock()

    @property
    def pause(self) -> float:
        """Seconds until a request may start."""
        if self._per_second is None:
            return 0.0
        now = self._clock()
        self._tokens += (now - self._filled) * self._per_second
        self._tokens = min(self._tokens, self._per_second)  # of one second at most
        self._filled = now
        # a pause of less than a millisecond may end too early by the resolution of the clock
        return 0.0 if self._tokens > 0 else max(-self._tokens / self._per_second, 0.001)

    def use(self, tokens: int) -> None:
        self._tokens -= tokens


class OwnLimits:
    """Limits for one model in this process, for use in one event loop."""

    def __init__(
        self,
        max_concurrency: int,
        tokens_per_second: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_concurrency = max_concurrency
        self._tokens_per_second = tokens_per_second
        self._clock = clock
        self._busy: dict[str, int] = {}
        self._buckets: dict[str, TokenBucket] = {}
        self._change = asyncio.Condition()

    async def take(self, servers: Sequence[str], tokens: int) -> Slot | None:
        async with self._change:
            while True:
                free = [name for name in servers if self._busy.get(name, 0) < self._max_concurrency]
                pauses = {name: self._bucket(name).pause for name in free}
                ready = [name for name in free if not pauses[name]]
                if ready:
                    name = min(ready, key=lambda name: self._busy.get(name, 0))
                    self._busy[name] = self._busy.get(name, 0) + 1
                    self._bucket(name).use(tokens)
                    return Slot(name)
                try:
                    async with asyncio.timeout(min(pauses.values(), default=None)):
                        await self._change.wait()
                except TimeoutError:
                    continue

    async def give_back(self, slot: Slot, use: Use) -> None:
        self._busy[slot.server] -= 1
        self._bucket(slot.server).use(use.tokens)
        async with self._change:
            self._change.notify_all()  # one may wait for other servers

    async def aclose(self) -> None:
        """Do nothing, because there are no connections."""

    def _bucket(self, server: str) -> TokenBucket:
        if server not in self._buckets:
            self._buckets[server] = TokenBucket(self._tokens_per_second, self._clock)
        return self._buckets[server]
