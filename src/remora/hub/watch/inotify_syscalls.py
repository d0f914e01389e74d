"""Bindings for Linux inotify system calls, which the standard library does not provide."""

import array
import ctypes
import errno
import fcntl
import os
import struct
import termios
from typing import NamedTuple

from remora.sandbox.child.syscalls import LIBC, check_result

MODIFY = 0x002
ATTRIB = 0x004
CLOSE_WRITE = 0x008
MOVED_FROM = 0x040
MOVED_TO = 0x080
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
OVERFLOW = 0x4000
IGNORED = 0x8000
ISDIR = 0x4000_0000
_ONLYDIR = 0x0100_0000
_DONT_FOLLOW = 0x0200_0000
_EXCL_UNLINK = 0x0400_0000
_WATCHED_EVENTS = (
    MODIFY
    | ATTRIB
    | CLOSE_WRITE
    | MOVED_FROM
    | MOVED_TO
    | CREATE
    | DELETE
    | DELETE_SELF
    | MOVE_SELF
    | _ONLYDIR
    | _DONT_FOLLOW
    | _EXCL_UNLINK
)
_HEAD = struct.Struct("iIII")
_READ = 1 << 18


class Event(NamedTuple):
    """An inotify event. `watch` is -1 if events were lost."""

    watch: int
    mask: int
    name: bytes
    """Name of the entry in the watched folder. Empty if the event is for the folder itself."""


class Inotify:
    """Event queue of the kernel.

    An event is queued before the system call that caused it returns. Methods raise OSError if a
    system call fails.
    """

    def __init__(self) -> None:
        self._fd = check_result(LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def watch(self, folder: str) -> int:
        """Watch a folder and return the number of the watch.

        Watching the same folder again returns the same number. Symbolic links are not followed.
        Raises OSError if the folder cannot be watched.
        """
        path = ctypes.c_char_p(os.fsencode(folder))
        return check_result(
            LIBC.inotify_add_watch(self._fd, path, ctypes.c_uint32(_WATCHED_EVENTS))
        )

    def unwatch(self, watch: int) -> None:
        try:
            check_result(LIBC.inotify_rm_watch(self._fd, watch))
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise

    def read(self) -> list[Event]:
        """Return all queued events without waiting. After `close`, there are none."""
        if self._fd < 0:
            return []
        size = array.array("i", [0])
        fcntl.ioctl(self._fd, termios.FIONREAD, size)
        events: list[Event] = []
        remaining = size[0]
        while remaining > 0:
            try:
                data = os.read(self._fd, _READ)
            except BlockingIOError:
                break
            remaining -= len(data)
            _split_events(data, events)
        return events

    def fileno(self) -> int:
        """Return the file descriptor, which is readable when there are events."""
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def _split_events(data: bytes, events: list[Event]) -> None:
    place = 0
    while place < len(data):
        watch, mask, _, length = _HEAD.unpack_from(data, place)
        start = place + _HEAD.size
        place = start + length
        events.append(Event(watch, mask, data[start:place].rstrip(b"\0")))
