"""Detection of a git process that waits for a pipe and would wait forever."""

import threading
import time
from pathlib import Path

STALL_SECONDS = 1.0
"""A process that has not run for so long waits for something that may never come."""
_REMEMBERED_SECONDS = 60.0
_stalled: dict[str, float] = {}
_lock = threading.Lock()


class StallDetector:
    """Watches one process between two calls of `is_stalled`.

    A disk that is slow leaves a process in another state than a pipe does (D, not S), and a thread
    that works shows in the counts of context switches. Without /proc nothing is detected.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: object = None
        self._since = time.monotonic()

    def is_stalled(self) -> bool:
        """Return True if no thread of the process has run for STALL_SECONDS."""
        now, seen = time.monotonic(), _asleep(self._pid)
        if seen is None or seen != self._seen:
            self._seen, self._since = seen, now
        return seen is not None and now - self._since >= STALL_SECONDS


def _asleep(pid: int) -> object:
    """Return how often each thread slept, None if one runs or the process has children."""
    found = []
    try:
        for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
            lines = (task / "status").read_text().splitlines()
            fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            if fields["State"][0] != "S" or (task / "children").read_text():
                return None
            found.append((task.name, fields["voluntary_ctxt_switches"]))
    except (OSError, KeyError, ValueError):
        return None
    return found or None


def remember_stall(root: Path) -> None:
    """Spare the next calls for this folder the same wait."""
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
