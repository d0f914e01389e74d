"""Linux namespaces, and a private root file system with only the paths granted to a command."""

import _socket
import fcntl
import os
import sys

from remora.sandbox.child import syscalls
from remora.sandbox.child.command_record import PRIVATE_BYTES, PRIVATE_FOLDERS, CommandRecord

_ANY_FOLDER = "/usr"  # exists on every system; its content stays accessible
_NEW, _OLD, _STORE = "/new", "/old", "/store"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {
    "ptmx": "pts/ptmx",
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_CLOSED = syscalls.ATTR_RDONLY | syscalls.ATTR_NOSUID | syscalls.ATTR_NODEV
_SAFE = syscalls.MS_NOSUID | syscalls.MS_NODEV

_MOUNTS, _CGROUPS, _NAMES, _IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
_USERS, _PROCESSES, _NETWORK = 0x10000000, 0x20000000, 0x40000000
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS
_UP = 1


def build_root(record: CommandRecord) -> None:
    """Build the private root in the current mount namespace and switch to it.

    The mount namespace must not be shared with other processes. Raises OSError.
    """
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("tmpfs", _ANY_FOLDER, "tmpfs", _SAFE, f"size={PRIVATE_BYTES},mode=755")
    for place in (_NEW, _OLD, _STORE):
        os.mkdir(_ANY_FOLDER + place)
    syscalls.pivot_root(_ANY_FOLDER, _ANY_FOLDER + _OLD)
    os.chdir("/")
    _bind(_NEW, _NEW)
    _private()
    _points(record)
    for path in record.read:
        _bind(_OLD + path, _NEW + path)
    syscalls.mount_attributes(_NEW, add=_CLOSED, deep=True)
    for path in PRIVATE_FOLDERS:
        syscalls.mount_attributes(_NEW + path, remove=syscalls.ATTR_RDONLY)
    _devices()
    _processes()
    for number, path in enumerate(sorted((*record.write, *record.scratch))):
        if path in record.scratch:
            mount_overlay(_OLD + path, _NEW + path, f"{_STORE}/{number}")
        else:
            _open(path)
    syscalls.unmount(_OLD)
    os.chdir(_NEW)
    syscalls.pivot_root(".", ".")
    syscalls.unmount(".")
    os.chdir("/")


def mount_overlay(source: str, target: str, store: str) -> None:
    """Mount an overlay of `source` at `target`, and store its changes in the new folder `store`.

    Raises OSError.
    """
    for name in ("", "/lower", "/upper", "/work"):
        os.mkdir(store + name)
    syscalls.mount(source, f"{store}/lower", None, syscalls.MS_BIND)
    os.chdir(store)  # relative paths: a comma or colon in a path would break the options
    options = "lowerdir=lower,upperdir=upper,workdir=work,userxattr"
    syscalls.mount("overlay", target, "overlay", _SAFE, options)
    os.chdir("/")


def _bind(source: str, target: str) -> None:
    syscalls.mount(source, target, None, syscalls.MS_BIND | syscalls.MS_REC)


def _open(path: str) -> None:
    """Bind a path as writable. Changes to it are permanent."""
    _bind(_OLD + path, _NEW + path)
    closed = syscalls.ATTR_NOSUID | syscalls.ATTR_NODEV
    syscalls.mount_attributes(_NEW + path, add=closed, deep=True)


def _private() -> None:
    """Bind the private folders, which share one file system of limited size."""
    for number, path in enumerate(PRIVATE_FOLDERS):
        store = f"{_STORE}/private{number}"
        os.mkdir(store)
        os.makedirs(_NEW + path)
        _bind(store, _NEW + path)


def _points(record: CommandRecord) -> None:
    """Create a mount point for each path, and create the symbolic links to these paths."""
    for name in ("dev/pts", "proc"):
        os.makedirs(f"{_NEW}/{name}", exist_ok=True)
    for path in (*record.read, *record.write, *record.scratch):
        if os.path.isdir(_OLD + path):
            os.makedirs(_NEW + path, exist_ok=True)
        else:
            _touch(_NEW + path)
    for name in _DEVICES:
        _touch(f"{_NEW}/dev/{name}")
    devices = {f"/dev/{name}": target for name, target in _DEVICE_LINKS.items()}
    for path, target in (devices | record.links).items():
        os.makedirs(os.path.dirname(_NEW + path), exist_ok=True)
        os.symlink(target, _NEW + path)


def _touch(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def _devices() -> None:
    for name in _DEVICES:
        _bind(f"{_OLD}/dev/{name}", f"{_NEW}/dev/{name}")
    options = "newinstance,ptmxmode=0666,mode=620"
    syscalls.mount(
        "devpts", f"{_NEW}/dev/pts", "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, options
    )


def _processes() -> None:
    """Mount /proc read-only. It shows only the processes of the current PID namespace.

    No further user namespaces can be created then. Raises OSError.
    """
    place = f"{_NEW}/proc"
    syscalls.mount("proc", place, "proc", _SAFE | syscalls.MS_NOEXEC)
    _write(f"{place}/sys/user/max_user_namespaces", "0")
    syscalls.mount_attributes(place, add=syscalls.ATTR_RDONLY)


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


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
