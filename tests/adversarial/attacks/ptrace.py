"""Tracing: who is traced does what the tracer wants."""

import ctypes

from tests.adversarial.attacks.inside import LIBC, PARENT, VICTIM, called, refused

ATTACH, SEIZE = 16, 0x4206


def test_nobody_outside_can_be_traced() -> None:
    for pid in (VICTIM, PARENT):
        for request in (ATTACH, SEIZE):
            refused(called, LIBC.ptrace, ctypes.c_long(request), ctypes.c_int(pid), None, None)


def test_nor_read_nor_written() -> None:
    for pid in (VICTIM, PARENT):
        buffer = ctypes.create_string_buffer(8)
        part = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
        one = ctypes.c_ulong(1)
        none = ctypes.c_ulong(0)
        refused(called, LIBC.process_vm_readv, pid, part, one, part, one, none)
        refused(called, LIBC.process_vm_writev, pid, part, one, part, one, none)
