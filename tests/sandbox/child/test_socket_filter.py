"""From level 2 on, only Unix, IPv4, IPv6 and netlink sockets can be made, by any system call."""

import errno
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from remora.sandbox import isolation_probe
from remora.sandbox.child import socket_filter
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import Command
from tests.isolation_levels import SAFE, need

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
    "ring": problem(libc.syscall, 425, 4, None),
    "x32": problem(libc.syscall, 0x40000000 | 41, 1, 1, 0),
    "filters": [line.split()[1] for line in open("/proc/self/status") if "Seccomp:" in line],
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


@pytest.fixture(params=SAFE, ids="L{}".format)
def level(request: pytest.FixtureRequest) -> int:
    return need(request.param)


def python(code: str, folder: Path, level: int) -> ProcessResult:
    argv = (sys.executable, "-I", "-S", "-c", code)
    given = Command(argv=argv, folder=folder, seconds=20, confinement=Confinement(read=READ))
    return run_command(given, level=level)


def test_no_other_socket_can_be_made(tmp_path: Path, level: int) -> None:
    number = socket_filter._MACHINES[os.uname().machine][1]
    ended = python(MAKE.replace("NUMBER", str(number)), tmp_path, level)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    for call in ("socket", "pair"):
        refused = {family for family, how in enumerate(found[call]) if how == "EAFNOSUPPORT"}
        assert refused >= set(range(64)) - ALLOWED
    assert [found["socket"][family] for family in (1, 2)] == ["made", "made"]
    assert (found["pair"][1], found["netlink"]) == ("made", "made")
    assert found["high"] == "EAFNOSUPPORT"  # the kernel reads only the lower half
    assert (found["ring"], found["x32"]) == ("ENOSYS", "ENOSYS")
    assert found["filters"] == ["2"]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="other numbers are x86_64's")
def test_a_call_by_the_numbers_of_32_bit_programs_ends_the_process(
    tmp_path: Path, level: int
) -> None:
    ended = python(OLD_CALL, tmp_path, level)
    # SIGSEGV: a kernel without 32-bit system calls
    assert ended.returncode in {-signal.SIGSYS, -signal.SIGSEGV}
    assert ended.stdout == b""


def test_without_isolation_nothing_is_filtered(tmp_path: Path) -> None:
    ended = python("print(open('/proc/self/status').read())", tmp_path, 0)
    assert b"Seccomp:\t0" in ended.stdout


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
        socket_filter.filter_program()
    assert caught.value.errno == errno.ENOSYS


def test_a_descriptor_gives_the_whole_program() -> None:
    file = socket_filter.filter_file()
    try:
        assert os.get_inheritable(file)
        assert os.read(file, 1 << 16) == socket_filter.filter_program()
    finally:
        os.close(file)
