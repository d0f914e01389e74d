"""Tree scan that hashes only files whose `stat` status has changed since the last scan."""

import hashlib
import os
import stat as st
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

TOOL_CACHES = frozenset(
    {"__pycache__", ".ruff_cache", ".pytest_cache", ".mypy_cache", ".hypothesis"}
)
"""Cache folders of tools. They are not part of a base, never a change, and removed by a reset."""
OWNER_RIGHTS = 0o700
"""Permissions of the owner that a scan needs in every folder."""
# a change within one tick of the file system's clock may not be visible in the status
_TICK_NS = 20_000_000


def is_in_tool_cache(path: str) -> bool:
    return not TOOL_CACHES.isdisjoint(path.split("/")[:-1])


class ScannedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Hash of a file, and its status when it was scanned."""

    sha256: str
    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    at: int
    """The wall-clock time in nanoseconds at the start of the scan."""

    def is_unchanged(self, status: os.stat_result) -> bool:
        """Return True if the status proves that the file has not been written since the scan."""
        return (
            status.st_ctime_ns == self.ctime_ns
            and status.st_mtime_ns == self.mtime_ns
            and status.st_size == self.size
            and status.st_ino == self.inode
            and self.ctime_ns < self.at - _TICK_NS
        )


class TreeScan(msgspec.Struct, frozen=True):
    """Entries of a tree."""

    files: dict[str, ScannedFile]
    folders: list[str]
    tool_caches: list[str]
    unsupported: list[str]
    """Links, special files, and files with several hard links."""
    closed: list[str]
    """Folders for which the owner does not have all permissions."""


def scan_tree(tree: Path, known: Mapping[str, ScannedFile]) -> TreeScan:
    """Scan a tree without following links, and return its entries. Raises OSError."""
    at = time.time_ns()
    found = TreeScan({}, [], [], [], [])
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(f"{tree}/{prefix}") as entries:
            for entry in entries:
                path = prefix + entry.name
                status = entry.stat(follow_symlinks=False)
                if st.S_ISDIR(status.st_mode):
                    if entry.name in TOOL_CACHES:
                        found.tool_caches.append(path)
                        continue
                    found.folders.append(path)
                    waiting.append(path + "/")
                    if status.st_mode & OWNER_RIGHTS != OWNER_RIGHTS:
                        found.closed.append(path)
                elif st.S_ISREG(status.st_mode) and status.st_nlink < 2:
                    file = known.get(path)
                    if file is None or not file.is_unchanged(status):
                        file = _scan_file(entry.path, status, at)
                    found.files[path] = file
                else:
                    found.unsupported.append(path)
    return found


def _scan_file(path: str, status: os.stat_result, at: int) -> ScannedFile:
    return ScannedFile(
        _hash(path),
        status.st_mode & 0o7777,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        at,
    )


def _hash(path: str) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
