"""Answers from a running daemon, received over its Unix socket."""

import asyncio
import os
import socket
import time
from pathlib import Path
from typing import Any

import msgspec

from remora.errors import NotFound
from remora.hub import protocol
from remora.hub.node import AnsweredNode, NodeState
from remora.hub.process.addresses import read_addresses
from remora.hub.process.hub_paths import HubPaths, display_path
from remora.hub.protocol import (
    Answer,
    GetContext,
    GetNode,
    Health,
    Request,
    Status,
)
from remora.hub.server.socket_listener import is_ours
from remora.hub.sources.source_answer import Busy, SourceAnswer

_MAX_ANSWER_BYTES = 1 << 26
"""Maximum bytes of an answer line."""
_PART = 1 << 16
_context = msgspec.json.Decoder(dict[str, AnsweredNode])


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
            if searched > _MAX_ANSWER_BYTES:
                raise ValueError("the answer is too long")
            part = await loop.sock_recv(self._socket, _PART)
            if not part:
                raise EOFError("the connection was closed")
            self._received += part
        line = bytes(self._received[: end + 1])
        del self._received[: end + 1]
        return line


_NOT_ANSWERED = (OSError, EOFError, ValueError, msgspec.DecodeError, RecursionError)


class DaemonSource:
    """Sends requests to the daemon."""

    def __init__(self, root: Path, places: HubPaths | None, *, named: bool, keeps: bool) -> None:
        """Try only the socket in `places` if `named` is True, as the user chose that socket.

        With `keeps`, connections are used again, by one event loop, until `close`.
        """
        self._keeps = keeps
        self._kept: dict[Path, DaemonConnection] = {}
        self._root = display_path(root)
        self._places = places
        self._is_named = named

    async def ask(self, request: Request) -> SourceAnswer | NotFound | Busy | None:
        """Return the daemon's answer.

        Returns Busy if the daemon is busy, or None if no daemon answers. There is no time limit.
        """
        busy = None
        began = time.monotonic()
        for place in self._sockets():
            try:
                if (answer := await self._answer(place, request)) is None:
                    continue
                if answer.ok:
                    result = _decode_result(request, answer.result)
                    return SourceAnswer(result, answer.generation, "socket")
                if answer.error is not None and answer.error.code == "unknown_node":
                    return NotFound(answer.error.message)
                if answer.error is not None and answer.error.code == "busy":
                    busy = Busy(time.monotonic() - began)
            except _NOT_ANSWERED:
                continue
        return busy

    def _sockets(self) -> tuple[Path, ...]:
        """Return the sockets to try.

        They include the socket of a daemon that was started with a different `--socket`.
        """
        if self._places is None:
            return ()
        usual = self._places.socket
        found = None if self._is_named else read_addresses(self._places.addresses)
        return tuple(dict.fromkeys((usual if found is None else Path(found.socket), usual)))

    def close(self) -> None:
        """Close the connections that were kept."""
        for connection in self._kept.values():
            connection.close()
        self._kept.clear()

    async def _answer(self, place: Path, request: Request) -> Answer | None:
        kept = self._kept.pop(place, None)
        if kept is not None:
            try:
                return await self._exchange(place, kept, request)
            except (OSError, EOFError):
                pass  # the daemon has been restarted since
        connection = await _connect(place) if _is_ours(place) else None
        if connection is None:
            return None
        # one write: the daemon answers requests in order
        return await self._exchange(place, connection, Health(), Status(), request)

    async def _exchange(
        self, place: Path, connection: DaemonConnection, *requests: Request
    ) -> Answer | None:
        """Return the answer to the last request.

        Those before it are about the daemon. Return None if it does not serve this root.
        """
        is_right = False
        try:
            *about, answer = await connection.ask(*requests)
            is_right = not about or (_is_compatible(about[0]) and self._is_of_root(about[1]))
        finally:
            if is_right and self._keeps and place not in self._kept:
                self._kept[place] = connection
            else:
                connection.close()
        return answer if is_right else None

    def _is_of_root(self, status: Answer) -> bool:
        """Return True if the daemon serves the same root.

        This matters because nodes of different projects may have equal keys.
        """
        found = msgspec.json.decode(status.result, type=dict[str, Any]) if status.ok else {}
        return bool(found.get("root", self._root) == self._root)


def _is_ours(place: Path) -> bool:
    return place.lstat().st_uid == os.geteuid()


def _is_compatible(health: Answer) -> bool:
    if not health.ok:
        return False
    found = msgspec.json.decode(health.result, type=dict[str, Any])
    return bool(found.get("protocol") == protocol.PROTOCOL)


def _decode_result(request: Request, result: msgspec.Raw) -> Any:
    if isinstance(request, GetContext):
        return _context.decode(result)
    return msgspec.json.decode(result, type=NodeState if isinstance(request, GetNode) else Any)


async def _connect(place: Path) -> DaemonConnection | None:
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
