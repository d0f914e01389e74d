"""Startup of the daemon's child processes, and framing of their messages."""

import ctypes
import os
import signal
import sys
from typing import BinaryIO

_LENGTH = 4
_PR_SET_PDEATHSIG = 1


def begin() -> BinaryIO | None:
    """Set up a child process and return the stream for its messages.

    Returns None if the parent has exited. A child must call this first. From then on, Linux kills
    the child when its parent exits.
    """
    parent = os.getppid()
    if sys.platform == "linux":  # a busy child would not notice the end of its input
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent exited before the call
        return None
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not be taken for a message
    return messages


def frame_message(body: bytes) -> bytes:
    """Return a message prefixed with its length."""
    return len(body).to_bytes(_LENGTH, "big") + body


def receive_message(stream: BinaryIO) -> bytes | None:
    """Return the next message, or None at the end of the stream."""
    head = stream.read(_LENGTH)
    return stream.read(int.from_bytes(head, "big")) if len(head) == _LENGTH else None
