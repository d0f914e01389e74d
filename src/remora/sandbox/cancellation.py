"""Cancellation of work in threads, which cannot be stopped from outside."""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")
_signal: ContextVar[threading.Event | None] = ContextVar("cancellation", default=None)
POLL_SECONDS = 0.2
"""Maximum seconds between two calls of `raise_if_cancelled` in long waits."""


class Cancelled(BaseException):
    """Raised in a thread whose result is not wanted any more. `except Exception` does not catch it."""


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
