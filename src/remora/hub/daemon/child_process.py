"""What every child process of the daemon does: it speaks in framed messages, and ends with us."""

import ctypes
import os
import signal
import sys
from typing import BinaryIO

_LENGTH = 4
_PR_SET_PDEATHSIG = 1


def begin() -> BinaryIO | None:
    """Called first in a child: where its messages go. None: its parent is gone already."""
    parent = os.getppid()
    if sys.platform == "linux":  # while it is busy nobody reads the input: the kernel ends it then
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it was gone before the kernel knew what we wanted
        return None
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints must not be taken for a message
    return messages


def framed(body: bytes) -> bytes:
    """With its length before it."""
    return len(body).to_bytes(_LENGTH, "big") + body


def received(stream: BinaryIO) -> bytes | None:
    """The next message; None at the end."""
    head = stream.read(_LENGTH)
    return stream.read(int.from_bytes(head, "big")) if len(head) == _LENGTH else None
