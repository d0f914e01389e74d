"""Identity of the process that owns a stream, and detection of owners that have died."""

import os
import secrets
import socket
from typing import Self

import msgspec

from remora.facilities import proc_path


class Owner(msgspec.Struct, frozen=True):
    """A writer of streams, as stored in the database."""

    host: str
    pid: int
    started: str
    """The process's start time in clock ticks after boot."""
    machine: str
    """The boot and the PID namespace, so that process IDs can be compared."""
    token: str

    @classmethod
    def of_this_process(cls) -> Self:
        pid = os.getpid()
        return cls(socket.gethostname(), pid, _started(pid), this_machine(), secrets.token_hex(4))

    @classmethod
    def decode(cls, text: str) -> "Owner | None":
        """Return the owner in the database's text, or None if it cannot be read."""
        try:
            return msgspec.json.decode(text, type=Owner)
        except (msgspec.DecodeError, RecursionError):
            return None

    def encode(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def name(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def has_died(self) -> bool:
        """True if the process certainly ran on this machine and has exited."""
        if self.machine != this_machine() or not self.machine:
            return False
        started = _started(self.pid)
        return started != self.started if started else not _exists(self.pid)


def this_machine() -> str:
    """Return the identity of this boot and PID namespace, or an empty string if it is unknown."""
    try:
        boot = proc_path("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {proc_path('self/ns/pid').readlink()}"
    except OSError:
        return ""


def _exists(pid: int) -> bool:
    """Return True if there is such a process, also if it is hidden from this user."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # the database can hold any number
        return False
    except PermissionError:
        return True
    return _started(pid) != ""  # a zombie has ended


def _started(pid: int) -> str:
    """Return the start time of a process, or an empty string if there is none."""
    try:
        status = proc_path(f"{pid}/stat").read_text()
    except OSError:
        return ""
    fields = status.rpartition(")")[2].split()  # the name may contain spaces and parentheses
    return "" if fields[0] == "Z" else fields[19]
