"""io_uring does by itself what calls would do: open a file outside, and connect."""

import ctypes
import mmap
import os
import socket
import struct

from tests.adversarial.attacks.inside import HOME, PORT, syscall

SETUP, ENTER = 425, 426
OPENAT, CONNECT = 18, 16


def do(opcode: int, descriptor: int, address: int, length: int, offset: int) -> int:
    """The result of one operation: negative for an error."""
    parameters = ctypes.create_string_buffer(120)
    ring = syscall(SETUP, ctypes.c_uint(1), parameters)
    fields = struct.unpack_from("<10I", parameters.raw, 0)
    sq = struct.unpack_from("<10I", parameters.raw, 40)
    cq = struct.unpack_from("<10I", parameters.raw, 80)
    size = max(sq[6] + fields[0] * 4, cq[5] + fields[1] * 16)
    with mmap.mmap(ring, size) as rings, mmap.mmap(ring, 64 * fields[0], offset=0x10000000) as ops:
        ops[:64] = struct.pack("<BBHiQQI36x", opcode, 0, 0, descriptor, offset, address, length)
        struct.pack_into("<I", rings, sq[6], 0)
        struct.pack_into("<I", rings, sq[1], 1)
        syscall(ENTER, ctypes.c_int(ring), 1, 1, 1, None, 0)
        result: int = struct.unpack_from("<i", rings, cq[5] + 8)[0]
    os.close(ring)
    return result


def test_it_goes_no_further_than_we() -> None:
    try:
        os.close(syscall(SETUP, ctypes.c_uint(1), ctypes.create_string_buffer(120)))
    except OSError:
        return  # this kernel has none, or forbids it
    own, path = (
        ctypes.create_string_buffer(b"/dev/null"),
        ctypes.create_string_buffer(os.fsencode(HOME / ".bashrc")),
    )
    opened = do(OPENAT, -100, ctypes.addressof(own), 0, 0)
    assert opened > 2, "the attack itself must work"
    assert do(OPENAT, -100, ctypes.addressof(path), 0, 0) < 0
    name = struct.pack("<H", socket.AF_INET) + struct.pack(">H", PORT) + bytes([127, 0, 0, 1])
    address = ctypes.create_string_buffer(name + bytes(8))
    with socket.socket() as end:
        assert do(CONNECT, end.fileno(), ctypes.addressof(address), 0, 16) < 0
