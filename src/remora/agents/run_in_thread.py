"""Runs work in a thread, and waits for it to finish even if the task is cancelled."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def run_in_thread(work: Callable[..., _T], *args: object) -> _T:
    """Run `work(*args)` in a thread and return its result.

    If the task is cancelled, wait for the work to finish before raising CancelledError. A thread
    cannot be stopped, and the file tree that it uses is reused after the job.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieve it: nothing awaits the task any more
        raise
