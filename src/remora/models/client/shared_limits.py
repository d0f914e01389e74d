"""Limits that all processes with the same database share."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from remora.models.client.server_limits import Slot, Use

_T = TypeVar("_T")
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2


class Taken(NamedTuple):
    """The result of an attempt to take a slot.

    `works` is False if all of the servers are known to fail. With a slot, it is always True.
    """

    slot: Slot | None
    works: bool = True


class SharedSlots(Protocol):
    """The slots of all processes. It is thread-safe, and no method waits for a slot."""

    def take(self, servers: Sequence[str], tokens: int) -> Taken:
        """Take a slot at one of `servers`, at that with the fewest requests, if there is one.

        Raises DatabaseError.
        """

    def give_back(self, slot: Slot, use: Use) -> None:
        """Return a slot. If that fails, the slot is free after a few seconds."""

    def close(self) -> None:
        """Close all connections."""


class SharedLimits:
    """Waits for shared slots, for use in one event loop.

    The tasks that wait for the same servers form a line, and only the first one asks the database.
    """

    def __init__(self, slots: SharedSlots) -> None:
        self._slots = slots
        self._lines: dict[tuple[str, ...], asyncio.Lock] = {}
        self._given_back = asyncio.Event()

    async def take(self, servers: Sequence[str], tokens: int) -> Slot | None:
        pause = _FIRST_PAUSE_S
        async with self._lines.setdefault(tuple(servers), asyncio.Lock()):
            while True:
                self._given_back.clear()
                taken = await self._take(servers, tokens)
                if taken.slot is not None or not taken.works:
                    return taken.slot
                try:
                    async with asyncio.timeout(pause * (0.5 + random.random())):  # noqa: S311
                        await self._given_back.wait()
                except TimeoutError:
                    pause = min(pause * 1.5, _LONGEST_PAUSE_S)

    async def give_back(self, slot: Slot, use: Use) -> None:
        await _in_thread(lambda: self._slots.give_back(slot, use))
        self._given_back.set()

    async def aclose(self) -> None:
        await asyncio.to_thread(self._slots.close)

    async def _take(self, servers: Sequence[str], tokens: int) -> Taken:
        """Take a slot, or return it if this task is cancelled meanwhile."""
        found: list[Taken] = []
        try:
            await _in_thread(lambda: found.append(self._slots.take(servers, tokens)))
        except asyncio.CancelledError:
            for taken in found:
                if taken.slot is not None:
                    await self.give_back(taken.slot, Use(tokens=-tokens))
            raise
        return found[0]


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Call `work` in a thread. If this task is cancelled, wait for the end of `work` first."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieve it: nothing awaits the task any more
        raise
