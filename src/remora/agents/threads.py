"""Work done in a thread that is waited for, even by a task that was cancelled."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def run_in_thread(work: Callable[..., _T], *args: object) -> _T:
    """What `work(*args)` returns, from a thread.

    A thread cannot be stopped, and it works in a tree that is somebody else's once the job is
    over: so a cancellation takes effect when the work is done.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # nobody is left to be told of it
        raise
