"""Memory that processes share by a number (System V)."""

import ctypes
import os

from tests.adversarial.attacks.inside import LIBC, called, refused


def test_theirs_is_not_ours() -> None:
    key = int(os.environ["WORLD_SHARED"])
    refused(called, LIBC.shmget, ctypes.c_int(key), ctypes.c_size_t(0), 0)
