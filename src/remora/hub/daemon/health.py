"""Health check of the daemon, which covers memory use and whether the root exists."""

import ctypes
import gc
import os
from pathlib import Path
from typing import Literal

from remora.facilities import proc_path

REPLACE_AGAIN_S = 600.0
"""Minimum seconds between two restarts caused by memory use."""
OVER_S = 15.0
"""Seconds over the memory limit before a restart. One very large file exceeds it only briefly."""
ROOT_GONE_S = 60.0
"""Seconds that the root may be missing: a checkout or a mount may restore it."""
_PAGE = os.sysconf("SC_PAGE_SIZE")

Verdict = tuple[Literal["stopped", "restart"], str]


class HealthCheck:
    """Periodic check of the root and of memory use. Times are monotonic and in seconds."""

    def __init__(self, root: Path, *, memory_mb: int, restarted: float | None) -> None:
        self._root = root
        self._limit = memory_mb
        self._restarted = restarted
        self._gone_since: float | None = None
        self._over: float | None = None
        self._memory_note = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about current problems."""
        root_note = "the root no longer exists" if self._gone_since is not None else ""
        return tuple(note for note in (root_note, self._memory_note) if note)

    def verdict(self, now: float, *, settled: bool) -> Verdict | None:
        """Return `stopped` or `restart` and the reason, or None if the daemon can continue.

        `settled` is True once all files have been read.
        """
        self._look_for_root(now)
        if self._gone_since is not None and now - self._gone_since > ROOT_GONE_S:
            return "stopped", f"{self._root} no longer exists"
        used = self._used_memory(now)
        if used is None or used <= self._limit:
            self._over, self._memory_note = None, ""
            return None
        self._memory_note = (
            f"the daemon uses {used} MiB of memory (hub.memory_mb is "
            f"{self._limit}) and will restart if "
            "it stays above the limit; if the project always needs more, raise hub.memory_mb"
        )
        recently = self._restarted is not None and now - self._restarted < REPLACE_AGAIN_S
        lasting = self._over is not None and now - self._over >= OVER_S
        if recently or not settled or not lasting:
            return None
        return "restart", self._memory_note

    def _used_memory(self, now: float) -> int | None:
        """Return the memory use in MiB.

        If it exceeds the limit, first return unused memory to the system.
        """
        used = memory_mb()
        if used is None or used <= self._limit:
            return used
        first = self._over is None
        if first:
            self._over = now
        if first or now - (self._over or now) >= OVER_S:
            release_memory()
        return memory_mb()

    def _look_for_root(self, now: float) -> None:
        if self._root.is_dir():
            self._gone_since = None
        elif self._gone_since is None:
            self._gone_since = now


def release_memory() -> None:
    """Return unused memory to the system. The C library would otherwise keep it."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc
        trim(0)


def memory_mb() -> int | None:
    """Return the resident memory of this process in MiB, or None if unknown."""
    try:
        return int(proc_path("self/statm").read_text().split()[1]) * _PAGE >> 20
    except (OSError, ValueError, IndexError):
        return None
