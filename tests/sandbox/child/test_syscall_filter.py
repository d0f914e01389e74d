"""Keyrings and tracing are refused at every level, and most kinds of sockets from level 1 on."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from remora.sandbox import isolation_probe
from remora.sandbox.child import syscall_filter
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import Command
from tests.adversarial.limited_machines import NO_SECCOMP
from tests.isolation_levels import ALL, need

READ = interpreter_paths(Path(sys.executable), trusted=True)
ALLOWED = {1, 2, 10, 16}

# nothing here connects or binds: a socket that can be made is closed at once
MAKE = """
import ctypes, errno, json, socket
libc = ctypes.CDLL(None, use_errno=True)
def problem(call, *arguments):
    ctypes.set_errno(0)
    made = call(*arguments)
    return errno.errorcode.get(ctypes.get_errno(), "made") if made < 0 else "made"
two = (ctypes.c_int * 2)()
print(json.dumps({
    "socket": [problem(libc.socket, family, socket.SOCK_STREAM, 0) for family in range(64)],
    "high": problem(libc.syscall, NUMBER, ctypes.c_ulong(0xdead00000028), 1, 0),
    "pair": [problem(libc.socketpair, family, socket.SOCK_STREAM, 0, two) for family in range(64)],
    "netlink": problem(libc.socket, 16, socket.SOCK_RAW, 0),
    "no such kind": problem(libc.socket, 17, 11, 0),
    "ring": problem(libc.syscall, 425, 4, None),
    "x32": problem(libc.syscall, 0x40000000 | 41, 1, 1, 0),
    "filtered": libc.prctl(21, 0, 0, 0, 0),
}))
"""
# socket(AF_VSOCK, SOCK_STREAM, 0) by the numbers of 32-bit programs: mov eax, 359; int 0x80
OLD_CALL = """
import ctypes, mmap
code = bytes.fromhex("53 b8 67010000 bb 28000000 b9 01000000 31d2 cd80 5b c3".replace(" ", ""))
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""


# keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0) by those numbers: mov eax, 288; int 0x80
OLD_KEYCTL = OLD_CALL.replace("b8 67010000 bb 28000000 b9 01000000", "b8 20010000 31db b9 fcffffff")
# each call works on a process of its own, or on nothing at all
KEEPING = """
import ctypes, errno, json, os, signal
libc = ctypes.CDLL(None, use_errno=True)
def problem(number, *arguments):
    ctypes.set_errno(0)
    made = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode.get(ctypes.get_errno(), "made") if made < 0 else "made"
child = os.fork()
if child == 0:
    signal.pause()
names = NAMES
print(json.dumps({
    "trace": problem(names["ptrace"], 16, child, 0, 0),
    "trace me": problem(names["ptrace"], 0, 0, 0, 0),
    "trace the first process": problem(names["ptrace"], 0x4206, 1, 0, 0),
    "add a key": problem(names["add_key"], 0, 0, 0, 0, 0),
    "request a key": problem(names["request_key"], 0, 0, 0, 0),
    "find a keyring": problem(names["keyctl"], 0, -4, 0),
    "find a keyring, high bits": problem(names["keyctl"], 0xdead00000000, -4, 0),
    "read memory": problem(names["process_vm_readv"], child, 0, 0, 0, 0, 0),
    "write memory": problem(names["process_vm_writev"], child, 0, 0, 0, 0, 0),
    "take a file": problem(438, 0, 0, 0),
    "x32 keyctl": problem(0x40000000 | 250, 0, -4, 0),
    "x32 ptrace": problem(0x40000000 | 521, 16, child, 0, 0),
}))
os.kill(child, signal.SIGKILL)
"""
NAMES = ("ptrace", "add_key", "request_key", "keyctl", "process_vm_readv", "process_vm_writev")
STOPS_ITS_PARENT = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
libc.ptrace(0, 0, None, None)  # PTRACE_TRACEME: the parent traces this process
if os.fork() == 0:  # and the first process that takes in an orphan
    if os.fork() == 0:
        libc.ptrace(0, 0, None, None)
        os.kill(os.getpid(), signal.SIGCHLD)
        os._exit(0)
    os._exit(0)
for request in (16, 0x4206, 0x4207):  # ATTACH, SEIZE, INTERRUPT
    libc.ptrace(request, 1, None, None)
os.kill(os.getpid(), signal.SIGCHLD)  # ignored, unless this process is traced
"""


AT_LEVEL_ZERO = """
import pathlib, sys
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
argv = (sys.executable, "-I", "-S", "-c", "print('ran')")
given = Command(argv=argv, folder=pathlib.Path.cwd(), seconds=20, confinement=Confinement())
ended = run_command(given, level=0)
print(ended.returncode, ended.stdout.decode().strip())
"""


@pytest.fixture(params=ALL, ids="L{}".format)
def level(request: pytest.FixtureRequest) -> int:
    return need(request.param)


def python(code: str, folder: Path, level: int) -> ProcessResult:
    argv = (sys.executable, "-I", "-S", "-c", code)
    given = Command(argv=argv, folder=folder, seconds=20, confinement=Confinement(read=READ))
    return run_command(given, level=level)


@pytest.mark.parametrize("level", ALL[1:], ids="L{}".format)
def test_no_other_socket_can_be_made(tmp_path: Path, level: int) -> None:
    need(level)
    number = syscall_filter._MACHINES[os.uname().machine][1][0]
    ended = python(MAKE.replace("NUMBER", str(number)), tmp_path, level)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    for call in ("socket", "pair"):
        refused = {family for family, how in enumerate(found[call]) if how == "EAFNOSUPPORT"}
        assert refused >= set(range(64)) - ALLOWED
    assert [found["socket"][family] for family in (1, 2)] == ["made", "made"]
    assert (found["pair"][1], found["netlink"]) == ("made", "made")
    assert found["high"] == "EAFNOSUPPORT"  # the kernel reads only the lower half
    assert found["no such kind"] == "EAFNOSUPPORT"
    assert (found["ring"], found["x32"]) == ("ENOSYS", "ENOSYS")
    assert found["filtered"] == 2


def test_keyrings_and_other_processes_are_out_of_reach(tmp_path: Path, level: int) -> None:
    numbers = dict(zip(NAMES, syscall_filter._MACHINES[os.uname().machine][2], strict=True))
    ended = python(KEEPING.replace("NAMES", repr(numbers)), tmp_path, level)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found.pop("x32 keyctl"), found.pop("x32 ptrace")) == ("ENOSYS", "ENOSYS")
    assert set(found.values()) == {"EPERM"}, found


def test_a_traced_process_does_not_stop_what_waits_for_it(tmp_path: Path, level: int) -> None:
    ended = python(STOPS_ITS_PARENT, tmp_path, level)
    assert (ended.returncode, ended.timed_out) == (0, False), ended.stderr


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="other numbers are x86_64's")
@pytest.mark.parametrize("code", [OLD_CALL, OLD_KEYCTL], ids=["socket", "keyctl"])
def test_a_call_by_the_numbers_of_32_bit_programs_ends_the_process(
    tmp_path: Path, level: int, code: str
) -> None:
    ended = python(code, tmp_path, level)
    # SIGSEGV: a kernel without 32-bit system calls
    assert ended.returncode in {-signal.SIGSYS, -signal.SIGSEGV}
    assert ended.stdout == b""


def test_without_isolation_any_socket_can_be_made(tmp_path: Path) -> None:
    number = syscall_filter._MACHINES[os.uname().machine][1][0]
    ended = python(MAKE.replace("NUMBER", str(number)), tmp_path, 0)
    found = json.loads(ended.stdout)
    assert found["no such kind"] == "EINVAL"  # the answer of the kernel itself
    assert found["filtered"] == 2


def test_without_isolation_a_machine_without_a_filter_runs_the_command(tmp_path: Path) -> None:
    command = [*NO_SECCOMP, sys.executable, "-c", AT_LEVEL_ZERO]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=tmp_path, timeout=30
    )
    assert done.stdout == "0 ran\n", done.stderr


def test_the_trial_of_a_level_makes_such_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Socket:
        def __init__(self, family: int, _kind: int) -> None:
            made.append(family)

        def close(self) -> None: ...

    monkeypatch.setattr("_socket.socket", Socket)
    isolation_probe._make_vsock()
    assert made == [40]


@pytest.mark.parametrize("machine", ["i686", "ppc64le", "s390x"])
def test_an_unknown_machine_does_not_offer_the_level(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = os.uname()
    other = os.uname_result((known.sysname, known.nodename, known.release, known.version, machine))
    monkeypatch.setattr("os.uname", lambda: other)
    with pytest.raises(OSError, match="not implemented") as caught:
        syscall_filter.filter_program()
    assert caught.value.errno == errno.ENOSYS


def test_a_descriptor_gives_the_whole_program() -> None:
    file = syscall_filter.filter_file()
    try:
        assert os.get_inheritable(file)
        assert os.read(file, 1 << 16) == syscall_filter.filter_program()
    finally:
        os.close(file)
