"""Runs a coroutine in an event loop of its own, in a thread."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any


async def run_in_own_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `work()` in another event loop, so that its blocking calls do not stop this one.

    If this task is cancelled, `work` is cancelled, and waited for. Raises whatever `work` raises.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work())

    def run() -> None:
        try:
            loop.run_until_complete(task)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    running = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        with suppress(RuntimeError):  # it has just ended
            loop.call_soon_threadsafe(task.cancel)
        with suppress(asyncio.CancelledError):
            await running
        raise
