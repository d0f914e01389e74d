"""Linux system calls that the standard library does not provide, and signal numbers."""

import ctypes
import os

TYPE_CHECKING = False  # True for type checkers; `typing` itself is slow to import
if TYPE_CHECKING:
    import signal as signals
else:
    import _signal as signals  # importing `signal` takes 4 ms

__all__ = ["signals"]

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
ATTR_RDONLY = 0x1
ATTR_NOSUID = 0x2
ATTR_NODEV = 0x4

_MNT_DETACH = 2
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture, like all numbers from 424
_CAPABILITY_VERSION_3 = 0x20080522
_SYS_KEYCTL = {"Linux x86_64": 250, "Linux aarch64": 219, "Linux riscv64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1

LIBC = ctypes.CDLL(None, use_errno=True)


def check_result(result: int) -> int:
    """Raise OSError if the result of a system call is negative; otherwise return it."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *arguments: object) -> int:
    """Call a system call by its number. Arguments are ctypes values or None. Raises OSError."""
    return check_result(LIBC.syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, value: int, address: int = 0) -> None:
    """Call prctl(2). Does nothing on systems other than Linux. Raises OSError."""
    call = getattr(LIBC, "prctl", None)
    if call is not None:
        check_result(call(option, ctypes.c_ulong(value), ctypes.c_ulong(address), 0, 0))


def unshare(flags: int) -> None:
    """Call unshare(2). Raises OSError."""
    check_result(LIBC.unshare(flags))


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Call mount(2). Raises OSError."""
    words = [os.fsencode(source), os.fsencode(target), kind and os.fsencode(kind)]
    check_result(LIBC.mount(*words, ctypes.c_ulong(flags), os.fsencode(data) or None))


def unmount(target: str) -> None:
    """Unmount `target` lazily, even if it is in use. Raises OSError."""
    check_result(LIBC.umount2(os.fsencode(target), _MNT_DETACH))


def pivot_root(new: str, old: str) -> None:
    """Call pivot_root(2). Raises OSError."""
    check_result(LIBC.pivot_root(os.fsencode(new), os.fsencode(old)))


class _MountAttr(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")
    )


def mount_attributes(target: str, *, add: int = 0, remove: int = 0, deep: bool = False) -> None:
    """Add and remove attributes of a mount.

    If `deep` is True, mounts inside it are changed as well. Raises OSError.
    """
    attributes = _MountAttr(add, remove, 0, 0)
    syscall(
        _SYS_MOUNT_SETATTR,
        ctypes.c_int(_AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(_AT_RECURSIVE if deep else 0),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )


def drop_capabilities() -> None:
    """Drop all capabilities. Programs executed later cannot regain them. Raises OSError."""
    for number in range(64):
        try:
            prctl(PR_CAPBSET_DROP, number)
        except OSError:  # unknown to this kernel, or not permitted
            break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    check_result(LIBC.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())))


def join_new_keyring() -> None:
    """Join a new session keyring, if possible.

    Failures are ignored, because systems that refuse to create a keyring also deny access to keys.
    """
    machine = os.uname()
    number = _SYS_KEYCTL.get(f"{machine.sysname} {machine.machine}")
    if number is not None:
        LIBC.syscall(
            ctypes.c_long(number), ctypes.c_int(_KEYCTL_JOIN_SESSION_KEYRING), ctypes.c_void_p(None)
        )
