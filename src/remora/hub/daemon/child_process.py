"""Framed messages and start of the daemon's child processes, which end with it."""

import ctypes
import os
import signal
import sys
from typing import BinaryIO

_LENGTH = 4
_PR_SET_PDEATHSIG = 1


def begin() -> BinaryIO | None:
    """Return the stream for a child's messages; call it first. None if its parent is gone."""
    parent = os.getppid()
    if sys.platform == "linux":  # a busy child does not read its input: the kernel ends it then
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent was gone before the call
        return None
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not be taken for a message
    return messages


def frame_message(body: bytes) -> bytes:
    """Return a message with its length before it."""
    return len(body).to_bytes(_LENGTH, "big") + body


def receive_message(stream: BinaryIO) -> bytes | None:
    """Return the next message; None at the end."""
    head = stream.read(_LENGTH)
    return stream.read(int.from_bytes(head, "big")) if len(head) == _LENGTH else None
