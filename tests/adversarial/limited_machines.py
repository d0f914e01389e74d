"""Command prefixes that simulate machines without namespaces, Landlock, seccomp or a mountable /proc."""

import ctypes
import os
import sys

ORDINARY = (
    *("unshare", "--user", "--map-user=1000", "--map-group=1000"),
    *("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"),
)
"""A user without any capability."""
NO_USERS = (
    *("unshare", "--user", "--map-root-user", "sh", "-c"),
    'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
    "sh",
)
"""No user namespaces, as some distributions and most containers have it."""
NO_PROC = (
    *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"),
    'mount -t tmpfs none /proc/sys; exec "$@"',
    "sh",
)
"""/proc has parts that are hidden, as in a container: then the kernel lets nobody mount a new one."""
NO_LANDLOCK = (sys.executable, __file__, "landlock")
"""A kernel that does not know of Landlock."""
NO_SECCOMP = (sys.executable, __file__, "seccomp")
"""A kernel that installs no further filter of system calls."""

_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | 38  # ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARGUMENT = 0, 16
_PRCTL = {"x86_64": 157, "aarch64": 167, "riscv64": 167}
_SET_SECCOMP, _FILTER, _NO_NEW_PRIVS = 22, 2, 38
_FIRST, _BEYOND = 444, 447


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("then", ctypes.c_uint8),
        ("otherwise", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(_Instruction)))


_WITHOUT = {
    "landlock": (
        _Instruction(_LOAD, 0, 0, _NUMBER),
        _Instruction(_AT_LEAST, 0, 2, _FIRST),
        _Instruction(_AT_LEAST, 1, 0, _BEYOND),
        _Instruction(_RETURN, 0, 0, _FAIL),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    ),
    "seccomp": (
        _Instruction(_LOAD, 0, 0, _NUMBER),
        _Instruction(_EQUAL, 0, 3, _PRCTL[os.uname().machine]),
        _Instruction(_LOAD, 0, 0, _ARGUMENT),
        _Instruction(_EQUAL, 0, 1, _SET_SECCOMP),
        _Instruction(_RETURN, 0, 0, _FAIL),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    ),
}


def _forget(name: str) -> None:
    instructions = _WITHOUT[name]
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(instructions), (_Instruction * len(instructions))(*instructions))
    assert libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0


if __name__ == "__main__":
    _forget(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
