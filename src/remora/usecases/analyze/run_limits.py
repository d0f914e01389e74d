"""Time limits for planning and running, and handling of signals that stop a run."""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from remora.errors import UsageError
from remora.models.protocol import Model
from remora.statuses import INTERRUPTED

PLANNING_S = 30.0
"""Minimum seconds for planning under a time limit."""


class _OutOfTime(BaseException):
    """Raised in the main thread when the time is up. It is not caught by `except Exception`."""


@contextmanager
def planned_within(seconds: float | None) -> Iterator[None]:
    """Raise UsageError if the block takes longer than its time limit.

    The limit is `seconds`, but at least PLANNING_S. If `seconds` is None, there is no limit.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise _OutOfTime

    seconds = planning_limit(seconds)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _OutOfTime:
        hint = "use fewer files, a smaller folder or a longer --max-time"
        raise planning_timeout(seconds, hint) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def planning_limit(max_time: float) -> float:
    """Return the seconds that planning may take under a time limit."""
    return max(max_time, PLANNING_S)


def planning_timeout(seconds: float, hint: str) -> UsageError:
    return UsageError(f"planning took longer than {seconds:g} s (--max-time)", hint=hint)


def close_models(models: Iterable[Model]) -> None:
    """Close models outside an event loop."""

    async def close() -> None:
        for each in models:
            await each.aclose()

    asyncio.run(close())


def run_to_end(
    work: Callable[[], Awaitable[None]], models: Iterable[Model], max_time: float | None
) -> str:
    """Run `work`, then close the models.

    Returns the reason if the work was stopped early, and an empty string otherwise.
    """

    async def main() -> None:
        task = asyncio.current_task()
        if task is not None:  # asyncio.run does the same for SIGINT, if that is not ignored
            with suppress(ValueError, RuntimeError):  # not the main thread: no signal comes here
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            async with asyncio.timeout(max_time):
                await work()
        finally:
            for each in models:
                await each.aclose()

    try:
        asyncio.run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except TimeoutError:
        return f"stopped after {max_time:g} s (--max-time)"
    return ""
