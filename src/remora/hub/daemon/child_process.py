"""Startup of the daemon's child processes, and framing of their messages."""

import os
import resource
import signal
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, BinaryIO

from remora.hub.process.spawn import FOLDER, command
from remora.sandbox.child.syscalls import PR_SET_PDEATHSIG, prctl

if TYPE_CHECKING:
    from asyncio import StreamReader
    from asyncio.subprocess import Process

_LENGTH = 4


async def start_child(
    function: str, argument: str, environment: Mapping[str, str], *, stderr: int
) -> "Process":
    """Start a child that calls `function` (`MODULE:FUNCTION`), with pipes for input and output.

    `stderr` is `PIPE` or `DEVNULL`.
    """
    import asyncio  # not in the children, which start faster without it

    return await asyncio.create_subprocess_exec(
        *command(function, argument),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        cwd=FOLDER,
        env=dict(environment),
        start_new_session=True,  # Ctrl-C must reach only the daemon
    )


async def read_message(stream: "StreamReader") -> bytes:
    """Return the next message of a child. Raises EOFError if the child's output ends."""
    head = await stream.readexactly(_LENGTH)
    return await stream.readexactly(int.from_bytes(head, "big"))


def begin() -> BinaryIO | None:
    """Set up a child process and return the stream for its messages.

    Returns None if the parent has exited. A child must call this first. From then on, Linux kills
    the child when its parent exits.
    """
    parent = os.getppid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a busy child would not notice the end of its input
    if os.getppid() != parent:  # the parent exited before the call
        return None
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not be taken for a message
    return messages


def limit_resource(kind: int, wanted: int) -> None:
    """Set a limit of this process, such as RLIMIT_CPU, to `wanted` or a lower limit that is set."""
    _, most = resource.getrlimit(kind)
    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(kind, (limit, most))


def frame_message(body: bytes) -> bytes:
    """Return a message prefixed with its length."""
    return len(body).to_bytes(_LENGTH, "big") + body


def receive_message(stream: IO[bytes]) -> bytes | None:
    """Return the next message, or None at the end of the stream."""
    head = stream.read(_LENGTH)
    return stream.read(int.from_bytes(head, "big")) if len(head) == _LENGTH else None
