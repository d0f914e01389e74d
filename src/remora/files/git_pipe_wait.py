"""Detection of git processes that are blocked on a pipe."""

import threading
import time
from pathlib import Path

from remora.facilities import proc_path

STALL_SECONDS = 1.0
"""A process that has not run for this many seconds waits for input that may never arrive."""
_REMEMBERED_SECONDS = 60.0
_stalled: dict[str, float] = {}
_lock = threading.Lock()


class StallDetector:
    """Detects a stalled process by comparing successive calls of `is_stalled`. Requires /proc.

    A process that waits for a pipe is in state S. A process that waits for a slow disk is in state
    D, and does not count as stalled.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._counts: object = None
        self._since = time.monotonic()

    def is_stalled(self) -> bool:
        """Return True if no thread of the process has run for STALL_SECONDS."""
        now, counts = time.monotonic(), _asleep(self._pid)
        if counts is None or counts != self._counts:
            self._counts, self._since = counts, now
        return counts is not None and now - self._since >= STALL_SECONDS


def _asleep(pid: int) -> object:
    """Return each thread's voluntary context-switch count.

    Returns None if a thread is running or has child processes.
    """
    found = []
    try:
        for task in sorted(proc_path(f"{pid}/task").iterdir()):
            lines = (task / "status").read_text().splitlines()
            fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            if fields["State"][0] != "S" or (task / "children").read_text():
                return None
            found.append((task.name, fields["voluntary_ctxt_switches"]))
    except (OSError, KeyError, ValueError):
        return None
    return found or None


def remember_stall(root: Path) -> None:
    """Record that git stalled in this folder, so that calls in the next minute fail immediately."""
    with _lock:
        _stalled[str(root)] = time.monotonic()


def has_stalled(root: Path) -> bool:
    """Return True if git stalled in this folder within the last minute."""
    with _lock:
        at = _stalled.get(str(root))
        if at is not None and time.monotonic() - at >= _REMEMBERED_SECONDS:
            del _stalled[str(root)]
            return False
        return at is not None
