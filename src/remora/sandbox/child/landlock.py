"""Permanent restriction of file access with Landlock, for a process and its descendants."""

from __future__ import annotations

import ctypes
import os

from remora.sandbox.child import syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}  # ABI version → number of access rights it supports
_NETWORK_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11  # abstract sockets, signals

READ = _EXECUTE | _READ_FILE | _READ_DIR
WRITE = (1 << 16) - 1 & ~_MAKE_CHAR & ~_MAKE_BLOCK
DEVICE = _READ_FILE | _WRITE_FILE | _IOCTL_DEV | _READ_DIR


class _Ruleset(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("files", "network", "scoped"))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def restrict(rules: Iterable[tuple[str, int]], *, network: bool) -> None:
    """Allow only the access in `rules`, which contains pairs of a path and its access rights.

    Missing paths are skipped. TCP is blocked unless `network` is True. The process must have
    no-new-privileges set. Raises OSError if the restriction cannot be applied.
    """
    version = syscalls.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_ASK_VERSION))
    handled = (1 << max(n for since, n in _FILE_RIGHTS.items() if since <= version)) - 1
    attributes = _Ruleset(handled, 0 if network else _TCP, _SCOPES)
    size = 24 if version >= _SCOPES_SINCE else 16 if version >= _NETWORK_SINCE else 8
    ruleset = syscalls.syscall(
        _CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint(0)
    )
    for path, rights in rules:
        _allow(ruleset, path, rights & handled)
    syscalls.syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    is_folder = os.fstat(opened).st_mode & 0o170000 == 0o040000
    rule = _Beneath(rights if is_folder else rights & _OF_FILES, opened)
    syscalls.syscall(
        _ADD_RULE,
        ctypes.c_int(ruleset),
        ctypes.c_int(_PATH_BENEATH),
        ctypes.byref(rule),
        ctypes.c_uint(0),
    )
    os.close(opened)
