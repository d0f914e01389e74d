"""Private root file system, which contains only the paths granted to a command."""

import os

from remora.sandbox.child import namespaces, syscalls
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
    """Mount /proc read-only. It shows only the processes of the current PID namespace."""
    place = f"{_NEW}/proc"
    syscalls.mount("proc", place, "proc", _SAFE | syscalls.MS_NOEXEC)
    namespaces.forbid_user_namespaces(place)
    syscalls.mount_attributes(place, add=syscalls.ATTR_RDONLY)
