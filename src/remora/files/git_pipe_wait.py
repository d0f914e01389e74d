"""Detection of a git process that would wait for a pipe forever."""

import threading
import time
from pathlib import Path

STALL_SECONDS = 1.0
"""A process that has not run for so long waits for something that may never come."""
_REMEMBERED_SECONDS = 60.0
_stalled: dict[str, float] = {}
_lock = threading.Lock()


class StallDetector:
    """Watches one process between two calls of `is_stalled`; needs /proc.

    A slow disk leaves a process in another state than a pipe does (D, not S).
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._counts: object = None
        self._since = time.monotonic()

    def is_stalled(self) -> bool:
        """True if no thread of the process has run for STALL_SECONDS."""
        now, counts = time.monotonic(), _asleep(self._pid)
        if counts is None or counts != self._counts:
            self._counts, self._since = counts, now
        return counts is not None and now - self._since >= STALL_SECONDS


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
    """True if git stalled in this folder within the last minute."""
    with _lock:
        at = _stalled.get(str(root))
        if at is not None and time.monotonic() - at >= _REMEMBERED_SECONDS:
            del _stalled[str(root)]
            return False
        return at is not None
