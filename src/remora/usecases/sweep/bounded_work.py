"""Work on many repositories, of which only some are worked on at the same time."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


async def as_completed(
    work: Callable[[_Item], Awaitable[_Result]], items: Iterable[_Item], at_once: int
) -> AsyncGenerator[_Result, None]:
    """Yield each result once it is known. If the iterator is closed, the rest is cancelled."""
    free = asyncio.Semaphore(at_once)

    async def run(item: _Item) -> _Result:
        async with free:
            return await work(item)

    running = [asyncio.create_task(run(item)) for item in items]
    try:
        for each in asyncio.as_completed(running):
            yield await each
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
