"""Connections to a daemon, over its Unix socket or over loopback HTTP."""

import asyncio
import os
import re
import socket
from pathlib import Path

from remora.errors import undo_on_error
from remora.hub import protocol
from remora.hub.process.addresses import read_addresses, read_token
from remora.hub.process.hub_paths import HubPaths
from remora.hub.process.socket_listener import is_ours
from remora.hub.protocol import Answer, Request
from remora.hub.store.owner_lock import owner

_MAX_ANSWER_BYTES = 1 << 26
"""Maximum bytes of an answer."""
_MAX_HEAD_BYTES = 1 << 14
_PART = 1 << 16
_URL = re.compile(r"http://((127\.0\.0\.1|\[::1\]):(\d{1,5}))")
_HEAD = re.compile(
    rb"HTTP/1\.1 200 .*?\r\ncontent-length: *(\d{1,9})\r\n", re.DOTALL | re.IGNORECASE
)


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
        sent = b"".join(map(self._encode, requests))
        await asyncio.get_running_loop().sock_sendall(self._socket, sent)
        return [protocol.decode_answer(await self._next_answer()) for _ in requests]

    def close(self) -> None:
        self._socket.close()

    def _encode(self, request: Request) -> bytes:
        return protocol.request_line(request)

    async def _next_answer(self) -> bytes:
        return await self._take_until(b"\n", _MAX_ANSWER_BYTES)

    async def _take_until(self, end: bytes, limit: int) -> bytes:
        searched = 0
        while (found := self._received.find(end, searched)) < 0:
            searched = max(0, len(self._received) - len(end) + 1)
            if searched > limit:
                raise ValueError("the answer is too long")
            await self._receive()
        return self._take(found + len(end))

    def _take(self, size: int) -> bytes:
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    async def _receive(self) -> None:
        part = await asyncio.get_running_loop().sock_recv(self._socket, _PART)
        if not part:
            raise EOFError("the connection was closed")
        self._received += part


class HttpConnection(DaemonConnection):
    """A connection to the daemon's HTTP server, which also answers requests in order."""

    def __init__(self, line: socket.socket, host: str, token: str) -> None:
        super().__init__(line)
        self._headers = f"Host: {host}\r\nAuthorization: Bearer {token}\r\n"

    def _encode(self, request: Request) -> bytes:
        body = protocol.request_line(request)
        kind = request.__struct_config__.tag
        head = f"POST /v1/{kind} HTTP/1.1\r\n{self._headers}Content-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    async def _next_answer(self) -> bytes:
        head = _HEAD.match(await self._take_until(b"\r\n\r\n", _MAX_HEAD_BYTES))
        if head is None or (size := int(head[1])) > _MAX_ANSWER_BYTES:
            raise ValueError("not an answer of the daemon")
        while len(self._received) < size:
            await self._receive()
        return self._take(size)


async def connect_socket(place: Path) -> DaemonConnection | None:
    """Connect to a daemon, or return None if the socket or the process at it is another user's.

    Raises OSError if no process is listening.
    """
    if os.lstat(place).st_uid != os.geteuid():
        return None
    line = await _connected(socket.AF_UNIX, os.fspath(place))
    if is_ours(line):
        return DaemonConnection(line)
    line.close()
    return None


async def connect_http(places: HubPaths) -> HttpConnection | None:
    """Connect to the HTTP server of a daemon, or return None if no daemon serves HTTP.

    A killed daemon leaves its files behind, and another user's process may listen on its port. The
    order of the three checks matters: a token that is valid now is not sent to an earlier port.
    Raises OSError if no process is listening.
    """
    token = read_token(places.token)
    if token is None or owner(places.lock) is None:
        return None
    found = read_addresses(places.addresses)
    if found is None or (url := _URL.fullmatch(found.http or "")) is None:
        return None
    family = socket.AF_INET6 if url[2] == "[::1]" else socket.AF_INET
    line = await _connected(family, (url[2].strip("[]"), int(url[3])))
    return HttpConnection(line, url[1], token)


async def _connected(family: socket.AddressFamily, address: str | tuple[str, int]) -> socket.socket:
    line = socket.socket(family)
    with undo_on_error(line.close):
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, address)
    return line
