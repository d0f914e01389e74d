"""Runs work in a thread, and waits for it to finish even if the task is cancelled."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from remora.sandbox.cancellation import run_cancellable

_T = TypeVar("_T")


async def run_in_thread(work: Callable[..., _T], *args: object) -> _T:
    """Run `work(*args)` in a thread and return its result.

    If the task is cancelled, wait for the work to finish before raising CancelledError. A thread
    cannot be stopped, and the file tree that it uses is reused after the job. Subprocesses that the
    work waits for are killed.
    """
    signal = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(run_cancellable, signal, work, *args))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        signal.set()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieve it: nothing awaits the task any more
        raise
