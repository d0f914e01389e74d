"""Runs work in a forked process, and reads and writes result files."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import time
from typing import Any, Callable, Dict

Order = Dict[str, Any]
"""An order or a result."""
_MEMORY = 4 << 30
"""Bytes of address space of a child (decision)."""
_FILE = 64 << 20
"""Bytes of each file that a child writes (decision)."""
_STEP = 0.002
"""Seconds between two looks at whether a child has ended (decision)."""

monotonic, sleep = time.monotonic, time.sleep  # before the clocks are shifted


def in_child(work: Callable[[], None], seconds: float, cpu: float = 0.0) -> bool:
    """Run `work` in a child process. Return True if it ended in time, even with an exception.

    `cpu` limits the child's CPU time in seconds, which does not depend on the load of the machine,
    and `seconds` the time on the clock. The child's process group is killed afterwards.
    """
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if cpu:
                signal.signal(signal.SIGPROF, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_PROF, cpu)
            work()
        finally:
            os._exit(0)
    until = monotonic() + seconds
    ended, status = False, 0
    while not ended and monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        ended = pid == child
        if not ended:
            sleep(_STEP)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        with contextlib.suppress(OSError):  # it may not be a group leader yet
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return ended and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF)


def write(out: str, name: str, found: Order) -> None:
    """Write a result file atomically."""
    path = os.path.join(out, name)
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump(found, file)
    os.rename(path + ".new", path + ".json")


def read(out: str, name: str) -> Order:
    try:
        with open(os.path.join(out, name) + ".json", encoding="ascii") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def error_line(error: BaseException) -> str:
    """Return the type of an error and its message, which may be impossible to read."""
    try:
        message = " ".join(str(error).split())[:200]
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}"
