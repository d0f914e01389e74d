"""Linux system calls that the standard library does not provide: openat2 and renameat2."""

import ctypes
import errno
import os

from remora.sandbox.child.syscalls import LIBC, check_result, syscall

_SYS_OPENAT2 = 437  # the same number on every architecture that has it
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def openat2(folder: int, path: bytes, flags: int) -> int:
    """Open `path` relative to the folder descriptor `folder`, without following links.

    Raises OSError. The error is ENOSYS or EPERM if the system call is not available.
    """
    if not hasattr(os, "O_PATH"):  # not Linux: the number would mean something else
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    return syscall(
        _SYS_OPENAT2,
        ctypes.c_int(folder),
        ctypes.c_char_p(path),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )


def _renameat2(folder: int, old: bytes, new: bytes, flags: int) -> None:
    if (call := getattr(LIBC, "renameat2", None)) is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    check_result(call(folder, old, folder, new, ctypes.c_uint(flags)))


def rename_exchange(folder: int, name: bytes, other: bytes) -> None:
    """Atomically swap two names in a folder.

    Raises OSError. The error is ENOSYS or EINVAL if atomic swaps are not supported.
    """
    _renameat2(folder, name, other, _RENAME_EXCHANGE)


def rename_noreplace(folder: int, old: bytes, new: bytes) -> None:
    """Rename a file within a folder, without overwriting an existing file.

    Raises OSError. The error is EEXIST if `new` exists, and ENOSYS or EINVAL if the system call is
    not supported.
    """
    _renameat2(folder, old, new, _RENAME_NOREPLACE)
