"""Namespaces once more: in a user namespace of its own anybody may mount and trace."""

import ctypes
import os

from tests.adversarial.attacks.inside import LIBC, called, refused

MOUNTS, USERS, PROCESSES, NETWORK = 0x20000, 0x10000000, 0x20000000, 0x40000000


def test_no_new_ones() -> None:
    for flags in (USERS, USERS | MOUNTS, USERS | PROCESSES, MOUNTS, PROCESSES, NETWORK):
        refused(called, LIBC.unshare, flags)


def test_none_of_the_first_process() -> None:
    for name in ("user", "mnt", "net", "pid"):
        for pid in ("1", "self"):
            try:
                opened = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
            except OSError:
                continue
            refused(called, LIBC.setns, ctypes.c_int(opened), 0)
            os.close(opened)
