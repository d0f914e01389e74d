"""Work in threads. It cannot be stopped from outside, but can find out that it is cancelled."""

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import TypeVar

_T = TypeVar("_T")
_signal: ContextVar[threading.Event | None] = ContextVar("cancellation", default=None)
POLL_SECONDS = 0.2
"""Maximum seconds between two calls of `raise_if_cancelled` in long waits."""


class Cancelled(BaseException):
    """Raised in a thread whose result is not wanted any more. `except Exception` does not catch it."""


async def run_in_thread(work: Callable[..., _T], *args: object) -> _T:
    """Run `work(*args)` in a thread and return its result.

    If the task is cancelled, wait for the work to finish before raising CancelledError. A thread
    cannot be stopped, and the file tree that it uses is reused after the job. Subprocesses that the
    work waits for are killed.
    """
    import asyncio  # commands without an event loop do not load it

    signal, loop, context = threading.Event(), asyncio.get_running_loop(), copy_context()
    task = loop.run_in_executor(None, context.run, run_cancellable, signal, work, *args)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        signal.set()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieve it: nothing awaits the task any more
        raise


def run_cancellable(signal: threading.Event, work: Callable[..., _T], *args: object) -> _T:
    """Return `work(*args)`. Once `signal` is set, waits for subprocesses in it raise Cancelled."""
    before = _signal.set(signal)
    try:
        return work(*args)
    finally:
        _signal.reset(before)


def raise_if_cancelled() -> None:
    """Raise Cancelled if the result of this thread's work is not wanted any more."""
    signal = _signal.get()
    if signal is not None and signal.is_set():
        raise Cancelled
