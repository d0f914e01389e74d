"""Facilities of Linux that other POSIX systems lack. REMORA_TEST_POSIX=1 turns all of them off."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

POSIX_VARIABLE = "REMORA_TEST_POSIX"


def is_linux() -> bool:
    return sys.platform == "linux" and not os.environ.get(POSIX_VARIABLE)


def proc_path(name: str = "") -> Path:
    """Return a path in /proc, or one that does not exist."""
    return Path("/proc" if is_linux() else os.devnull, name)


def has_inotify() -> bool:
    import ctypes  # not in the commands that start fast

    return is_linux() and hasattr(ctypes.CDLL(None), "inotify_init1")


def has_proc() -> bool:
    return proc_path("self/stat").exists()


def has_namespaces() -> bool:
    return proc_path("self/ns/user").exists()


def has_landlock() -> bool:
    import ctypes

    # landlock_create_ruleset, which returns the version of its interface
    return is_linux() and ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


def has_overlay() -> bool:
    return has_proc() and "\toverlay\n" in proc_path("filesystems").read_text()


FACILITIES: dict[str, tuple[Callable[[], bool], str]] = {
    "inotify": (has_inotify, "the Hub compares all files on each request"),
    "/proc": (has_proc, "locks name no process, and detached processes can outlive a command"),
    "namespaces": (has_namespaces, "no isolation above L1, and code can use the network"),
    "Landlock": (has_landlock, "no isolation at L1 and L2"),
    "overlay": (has_overlay, "no isolation at L2, and code can change the copy that it runs in"),
}
"""For each facility, the function that looks for it, and what Remora lacks without it."""
