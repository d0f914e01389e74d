"""Other processes: signals, memory, variables, keys, and the terminal that shows our output."""

import ctypes
import fcntl
import os
import platform
import signal
from pathlib import Path

from tests.adversarial.attacks.inside import (
    HOME,
    LIBC,
    MARK,
    PARENT,
    SECRET,
    VICTIM,
    called,
    refused,
    syscall,
)

ATTACH, SEIZE = 16, 0x4206


def test_ptrace_nobody_outside_can_be_traced() -> None:
    for pid in (VICTIM, PARENT):
        for request in (ATTACH, SEIZE):
            refused(called, LIBC.ptrace, ctypes.c_long(request), ctypes.c_int(pid), None, None)


def test_ptrace_nor_read_nor_written() -> None:
    for pid in (VICTIM, PARENT):
        buffer = ctypes.create_string_buffer(8)
        part = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
        one = ctypes.c_ulong(1)
        none = ctypes.c_ulong(0)
        refused(called, LIBC.process_vm_readv, pid, part, one, part, one, none)
        refused(called, LIBC.process_vm_writev, pid, part, one, part, one, none)


def test_proc_memory_those_outside_are_not_there() -> None:
    for pid in (VICTIM, PARENT):
        refused(os.stat, f"/proc/{pid}/mem")
        refused(os.listdir, f"/proc/{pid}/root")
        refused(os.pidfd_open, pid)


def test_proc_memory_the_first_process_leads_nowhere() -> None:
    for pid in (1, os.getppid() or 1):
        for way in ("root", "cwd"):
            refused(os.stat, f"/proc/{pid}/{way}{HOME}/.bashrc")
    names = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    assert len(names) < 20, "a /proc of our own"


def test_signals_none_arrives() -> None:
    for pid in (VICTIM, PARENT):
        for number in (0, signal.SIGSTOP, signal.SIGKILL):
            refused(os.kill, pid, number)


def test_parent_environment_no_process_tells_the_secret() -> None:
    for process in Path("/proc").iterdir():
        for name in ("environ", "cmdline"):
            try:
                said = (process / name).read_bytes()
            except OSError:
                continue
            assert SECRET.encode() not in said
    assert SECRET not in os.environ.values()


def test_shared_memory_theirs_is_not_ours() -> None:
    key = int(os.environ["WORLD_SHARED"])
    refused(called, LIBC.shmget, ctypes.c_int(key), ctypes.c_size_t(0), 0)


KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
SEARCH, READ = 10, 11
SESSION, USER, USER_SESSION = -3, -4, -5


def test_keys_are_not_ours() -> None:
    number = KEYCTL[platform.machine()]
    for ring in (SESSION, USER, USER_SESSION):
        try:
            key = syscall(number, SEARCH, ctypes.c_int(ring), b"user", MARK.encode(), 0)
            buffer = ctypes.create_string_buffer(100)
            syscall(number, READ, ctypes.c_int(key), buffer, ctypes.c_size_t(100))
        except OSError:
            continue
        assert SECRET.encode() not in buffer.raw
        raise AssertionError("the key was found")
    serial = int(os.environ["WORLD_KEY"])
    buffer = ctypes.create_string_buffer(100)
    try:
        syscall(number, READ, ctypes.c_int(serial), buffer, ctypes.c_size_t(100))
    except OSError:
        return
    raise AssertionError("the key can be read by its number")


TIOCSTI, TIOCLINUX, TIOCSCTTY = 0x5412, 0x541C, 0x540E


def type_in() -> None:
    for number in (0, 1, 2):
        refused(fcntl.ioctl, number, TIOCSCTTY, 1)
        for letter in b"id\n":
            refused(fcntl.ioctl, number, TIOCSTI, bytes([letter]))
        refused(fcntl.ioctl, number, TIOCLINUX, b"\x03" + bytes(7))
    refused(os.open, "/dev/tty", os.O_RDWR)


def test_terminal_nobody_types_for_the_user() -> None:
    assert not any(map(os.isatty, range(3)))
    type_in()
    assert os.listdir("/dev/pts") == ["ptmx"]


def test_terminal_nor_as_the_first_of_a_session() -> None:
    child = os.fork()
    if child == 0:
        os.setsid()
        try:
            type_in()
        except AssertionError:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
