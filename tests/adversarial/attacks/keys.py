"""Keys that the kernel keeps for the user's session."""

import ctypes
import os
import platform

from tests.adversarial.attacks.inside import MARK, SECRET, syscall

KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
SEARCH, READ = 10, 11
SESSION, USER, USER_SESSION = -3, -4, -5


def test_they_are_not_ours() -> None:
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
