"""Health of the daemon: memory use and existence of its root."""

import ctypes
import gc
import os
from pathlib import Path
from typing import Literal

REPLACE_AGAIN_S = 600.0
"""Minimum seconds between two restarts for memory."""
OVER_S = 15.0
"""Seconds of too much memory before a restart: reading one very large file needs it briefly."""
ROOT_GONE_S = 60.0
"""Seconds that a root may be missing: a checkout or a mount may bring it back."""
_PAGE = os.sysconf("SC_PAGE_SIZE")

Verdict = tuple[Literal["stopped", "restart"], str]


class HealthCheck:
    """Checked periodically; times are seconds of the monotonic clock."""

    def __init__(self, root: Path, *, memory_mb: int, restarted: float | None) -> None:
        self._root = root
        self._limit = memory_mb
        self._restarted = restarted
        self._gone_since: float | None = None
        self._over: float | None = None
        self._memory_note = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Problems, in sentences."""
        root_note = "the root is gone" if self._gone_since is not None else ""
        return tuple(note for note in (root_note, self._memory_note) if note)

    def verdict(self, now: float, *, settled: bool) -> Verdict | None:
        """Return how to end, and why; None to continue. `settled`: all files have been read once."""
        self._look_for_root(now)
        if self._gone_since is not None and now - self._gone_since > ROOT_GONE_S:
            return "stopped", f"{self._root} is gone"
        used = self._used_memory(now)
        if used is None or used <= self._limit:
            self._over, self._memory_note = None, ""
            return None
        self._memory_note = (
            f"{used} MiB of memory are used, hub.memory_mb is {self._limit}: the daemon restarts "
            "if that lasts; a project that always needs more needs a larger hub.memory_mb"
        )
        recently = self._restarted is not None and now - self._restarted < REPLACE_AGAIN_S
        lasting = self._over is not None and now - self._over >= OVER_S
        if recently or not settled or not lasting:
            return None
        return "restart", self._memory_note

    def _used_memory(self, now: float) -> int | None:
        """Return memory in use, after free memory was released."""
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
    """Release free memory, which the C library otherwise keeps."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc
        trim(0)


def memory_mb() -> int | None:
    """Return resident memory of this process in MiB; None if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE >> 20
    except (OSError, ValueError, IndexError):
        return None
