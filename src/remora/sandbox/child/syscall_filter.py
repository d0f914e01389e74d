"""Seccomp filter that refuses kernel keyrings, tracing, and most kinds of sockets.

Keyrings belong to a user, and no namespace isolates all of them. Tracing would let a command stop
or change bubblewrap's process, or stop the supervisor with the events of a traced child.

A network namespace does not isolate all sockets. For example, AF_VSOCK can reach the host of a
virtual machine, and AF_ALG uses keys by their number. Only Unix, IPv4, IPv6 and netlink sockets are
allowed. io_uring is blocked, because it can create sockets without the `socket` system call.

A process is killed if it makes a system call for another architecture, because system call numbers
differ between architectures.
"""

import ctypes
import errno
import os
import struct
import sys

from remora.sandbox.child import syscalls

_GENERIC = (117, 217, 218, 219, 270, 271)
# machine → its AUDIT_ARCH, and its system call numbers of socket and socketpair, and of ptrace,
# add_key, request_key, keyctl, process_vm_readv and process_vm_writev
_MACHINES = {
    "x86_64": (0xC000003E, (41, 53), (101, 248, 249, 250, 310, 311)),
    "aarch64": (0xC00000B7, (198, 199), _GENERIC),
    "riscv64": (0xC00000F3, (198, 199), _GENERIC),
}
_PIDFD_GETFD = 438  # takes an open file from another process; the same number everywhere
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_IO_URING = range(425, 428)  # setup, enter, register: the same numbers everywhere
_X32 = 0x40000000  # this bit marks the x32 system calls of x86_64

_LOAD, _RETURN = 0x20, 0x06
_EQUAL, _AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in seccomp_data, little-endian
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000


def filter_program(*, sockets: bool = True) -> bytes:
    """Return the BPF program for this machine.

    If `sockets` is False, all sockets and io_uring are allowed. Raises OSError with ENOSYS if the machine type is not supported.
    """
    machine = os.uname().machine
    if machine not in _MACHINES or sys.maxsize < 1 << 32 or sys.byteorder != "little":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    architecture, makers, refused = _MACHINES[machine]
    steps = [
        (_LOAD, _ARCHITECTURE, "", ""),
        (_EQUAL, architecture, "", "kill"),
        (_LOAD, _NUMBER, "", ""),
        (_AT_LEAST, _X32, "missing", ""),
        *((_EQUAL, number, "denied", "") for number in (*refused, _PIDFD_GETFD)),
        *((_EQUAL, number, "missing", "") for number in _IO_URING if sockets),
        *((_EQUAL, number, "family", "") for number in makers if sockets),
        (_RETURN, _ALLOW, "", ""),
    ]
    labels = {"family": len(steps)}
    steps += [(_LOAD, _FIRST_ARGUMENT, "", "")]
    steps += [(_EQUAL, family, "allow", "") for family in _FAMILIES]
    for label, result in (
        ("refuse", _FAIL | errno.EAFNOSUPPORT),
        ("missing", _FAIL | errno.ENOSYS),
        ("denied", _FAIL | errno.EPERM),
        ("kill", _KILL),
        ("allow", _ALLOW),
    ):
        labels[label] = len(steps)
        steps.append((_RETURN, result, "", ""))
    return b"".join(
        struct.pack("=HBBI", code, *(labels[to] - at - 1 if to else 0 for to in jumps), value)
        for at, (code, value, *jumps) in enumerate(steps)
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def install(*, sockets: bool = True) -> None:
    """Install the filter permanently for this process and its descendants.

    The process must have no-new-privileges set. Raises OSError.
    """
    steps = filter_program(sockets=sockets)
    buffer = ctypes.create_string_buffer(steps, len(steps))
    program = _Program(len(steps) // 8, ctypes.addressof(buffer))
    syscalls.prctl(syscalls.PR_SET_SECCOMP, syscalls.SECCOMP_MODE_FILTER, ctypes.addressof(program))


def filter_file() -> int:
    """Return an inheritable file descriptor for reading the filter program."""
    file = os.memfd_create("system-call-filter", 0)
    os.write(file, filter_program())
    os.lseek(file, 0, os.SEEK_SET)
    return file
