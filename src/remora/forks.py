"""Work on many items that only reads, divided among forked processes."""

import gc
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_FEWEST = 500
"""Items for which a process is started: a fork takes about as long as parsing 20 small files."""
_MOST = 4
"""Maximum processes (decision)."""


def map_in_processes(
    work: Callable[[Sequence[_Item]], list[_Result]], items: Sequence[_Item]
) -> list[_Result]:
    """Return the results of `work`, one for each item, in order.

    Many items are divided among processes, if this is the main thread: others belong to servers,
    whose locks a fork would copy. `work` must not write, use threads or talk to other processes,
    and its results must be small. What it computes for the first item is shared by all processes.
    The part of a process that fails is worked on here.
    """
    number = min(len(os.sched_getaffinity(0)), _MOST, len(items) // _FEWEST)
    if number < 2 or threading.current_thread() is not threading.main_thread():
        return work(items)
    found, left = work(items[:1]), items[1:]
    size = -(-len(left) // number)
    parts = [left[start : start + size] for start in range(0, len(left), size)]
    with ExitStack() as stack:
        others = [stack.enter_context(_forked(work, part)) for part in parts[1:]]
        found += work(parts[0])
        for part, receive in zip(parts[1:], others, strict=True):
            try:
                found += receive()
            except (OSError, EOFError, pickle.UnpicklingError):
                found += work(part)
    return found


@contextmanager
def _forked(work: Callable[[Any], list[Any]], part: object) -> Iterator[Callable[[], list[Any]]]:
    """Work on a part in a new process. Yield a function that waits for the results."""
    reading, writing = os.pipe()
    with warnings.catch_warnings(), os.fdopen(reading, "rb") as results:
        warnings.simplefilter("ignore", DeprecationWarning)  # a thread shows the progress
        child = os.fork()
        if not child:
            _answer(work, part, writing)
        os.close(writing)
        try:
            yield lambda: pickle.load(results)  # noqa: S301 - written by the process above
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _answer(work: Callable[[Any], list[Any]], part: object, writing: int) -> None:
    """Write the results of the work, and end the process without running what its parent began."""
    try:
        gc.disable()
        with os.fdopen(writing, "wb") as results:
            pickle.dump(work(part), results, pickle.HIGHEST_PROTOCOL)
    finally:
        os._exit(0)
