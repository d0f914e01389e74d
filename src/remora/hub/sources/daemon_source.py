"""Answers from a running daemon, over its Unix socket or over HTTP."""

import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from remora.errors import NotFound
from remora.hub import protocol
from remora.hub.node import AnsweredNode, NodeState
from remora.hub.process.addresses import sockets_of
from remora.hub.process.hub_paths import HubPaths, display_path
from remora.hub.protocol import Answer, GetContext, GetNode, Health, Request, Status
from remora.hub.sources.daemon_connection import DaemonConnection, connect_http, connect_socket
from remora.hub.sources.source_answer import Busy, SourceAnswer, SourceName

_Connect = Callable[[], Awaitable[DaemonConnection | None]]
_context = msgspec.json.Decoder(dict[str, AnsweredNode])
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
        began = time.monotonic()
        for name, place, connect in self._ways():
            try:
                if (answer := await self._answer(place, connect, request)) is None:
                    continue
                if answer.ok:
                    result = _decode_result(request, answer.result)
                    return SourceAnswer(result, answer.generation, name)
            except _NOT_ANSWERED:
                continue
            if answer.error is not None and answer.error.code == "unknown_node":
                return NotFound(answer.error.message)
            if answer.error is not None and answer.error.code == "busy":
                return Busy(time.monotonic() - began)
        return None

    def _ways(self) -> Iterator[tuple[SourceName, Path, _Connect]]:
        """Return the ways to reach the daemon, with a path that identifies each."""
        if (places := self._places) is None:
            return
        for place in (places.socket,) if self._is_named else sockets_of(places):
            yield "socket", place, partial(connect_socket, place)
        if not self._is_named:
            yield "http", places.addresses, partial(connect_http, places)

    def close(self) -> None:
        """Close the connections that were kept."""
        for connection in self._kept.values():
            connection.close()
        self._kept.clear()

    async def _answer(self, place: Path, connect: _Connect, request: Request) -> Answer | None:
        kept = self._kept.pop(place, None)
        if kept is not None:
            try:
                return await self._exchange(place, kept, request)
            except (OSError, EOFError):
                pass  # the daemon has been restarted since
        if (connection := await connect()) is None:
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


def _is_compatible(health: Answer) -> bool:
    if not health.ok:
        return False
    found = msgspec.json.decode(health.result, type=dict[str, Any])
    return bool(found.get("protocol") == protocol.PROTOCOL)


def _decode_result(request: Request, result: msgspec.Raw) -> Any:
    if isinstance(request, GetContext):
        return _context.decode(result)
    return msgspec.json.decode(result, type=NodeState if isinstance(request, GetNode) else Any)
