"""Linux namespaces in which a command runs."""

import _socket
import fcntl
import os
import sys

from remora.sandbox.child import syscalls

_MOUNTS, _CGROUPS, _NAMES, _IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
_USERS, _PROCESSES, _NETWORK = 0x10000000, 0x20000000, 0x40000000
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS
_UP = 1


def enter_user_namespace(*, processes: bool = False, mounts: bool = False) -> None:
    """Enter a new user namespace as the same user, with all capabilities in it.

    If `processes` is True, the next child is the first process of a new PID namespace. If `mounts`
    is True, a new mount namespace is also entered. Raises OSError.
    """
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(_USERS | (_PROCESSES if processes else 0) | (_MOUNTS if mounts else 0))
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def enter_other_namespaces() -> None:
    """Enter new mount, network, UTS, IPC and cgroup namespaces.

    The loopback interface of the new network namespace is activated. Raises OSError.
    """
    syscalls.unshare(_MOUNTS | _NETWORK | _NAMES | _IPC | _CGROUPS)
    link = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    request = b"lo".ljust(16, b"\0") + _UP.to_bytes(2, sys.byteorder) + bytes(22)
    fcntl.ioctl(link.fileno(), _SET_FLAGS, request)
    link.close()


def forbid_user_namespaces(proc: str) -> None:
    """Prevent the creation of further user namespaces.

    `proc` is the path where /proc is mounted. Raises OSError.
    """
    _write(f"{proc}/sys/user/max_user_namespaces", "0")


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
