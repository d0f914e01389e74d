"""Work on many items that only reads, divided among forked processes."""

import gc
import os
import pickle
import select
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_FEWEST, _MOST = 500, 4
"""Items for which a process is started, and the maximum processes (decisions)."""
_LONGEST_MS = 60_000
"""Wait for a process after our own part (decision). It may wait for a lock of one of our threads."""


def map_in_processes(
    work: Callable[[Sequence[_Item]], list[_Result]], items: Sequence[_Item]
) -> list[_Result]:
    """Return the results of `work`, one for each item, in order.

    Many items are divided among processes, if this is the main thread: others belong to servers,
    whose locks a fork would copy. What `work` computes for the first item is shared by all
    processes. The part of a process that fails is worked on here.
    """
    number = min(len(os.sched_getaffinity(0)), _MOST, len(items) // _FEWEST)
    if number < 2 or threading.current_thread() is not threading.main_thread():
        return work(items)
    found, size = work(items[:1]), -(-(len(items) - 1) // number)
    parts = [items[start : start + size] for start in range(1, len(items), size)]
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
    reading, writing = map(os.fdopen, os.pipe(), ("rb", "wb"))
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    with reading, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a thread shows the progress
        if not (child := os.fork()):
            try:
                gc.disable()
                with writing:
                    pickle.dump(work(part), writing, pickle.HIGHEST_PROTOCOL)
            finally:
                os._exit(0)  # what the parent began is the parent's to end
        try:
            writing.close()
            yield lambda: pickle.load(reading) if ready.poll(_LONGEST_MS) else work(part)  # noqa: S301 - our child wrote it
        finally:
            with suppress(ProcessLookupError, ChildProcessError):  # if SIGCHLD is ignored
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
