"""A connection to a running daemon, for requests from an event loop."""

import asyncio
import os
import socket
from pathlib import Path

from remora.hub import protocol
from remora.hub.protocol import Answer, Request
from remora.hub.server.socket_listener import is_ours

MAX_ANSWER_BYTES = 1 << 26
"""Maximum bytes of an answer line."""
_PART = 1 << 16


class DaemonConnection:
    """A connection that answers one question at a time. It needs no event loop to be closed."""

    def __init__(self, line: socket.socket) -> None:
        self._socket = line
        self._received = bytearray()

    async def ask(self, *requests: Request) -> list[Answer]:
        """Send requests together, and return their answers.

        Raises OSError, EOFError, ValueError or msgspec.DecodeError if there is no valid answer. The
        connection must then be closed, as after a cancelled call.
        """
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, b"".join(map(protocol.request_line, requests)))
        return [protocol.decode_answer(await self._line(loop)) for _ in requests]

    def close(self) -> None:
        self._socket.close()

    async def _line(self, loop: asyncio.AbstractEventLoop) -> bytes:
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > MAX_ANSWER_BYTES:
                raise ValueError("the answer is too long")
            part = await loop.sock_recv(self._socket, _PART)
            if not part:
                raise EOFError("the connection was closed")
            self._received += part
        line = bytes(self._received[: end + 1])
        del self._received[: end + 1]
        return line


async def connect(place: Path) -> DaemonConnection | None:
    """Connect to a daemon, or return None if the process at the socket is another user's.

    Raises OSError if no process is listening.
    """
    line = socket.socket(socket.AF_UNIX)
    try:
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, os.fspath(place))
        if is_ours(line):
            return DaemonConnection(line)
    except BaseException:
        line.close()
        raise
    line.close()
    return None
