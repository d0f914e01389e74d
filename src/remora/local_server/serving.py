"""Serves applications over HTTP on a loopback address, with uvicorn."""

import asyncio
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from remora.errors import OutsideError

_HEAD_BYTES = 16 * 1024
_GOODBYE_S = 2
"""Seconds that pending answers may take when the server stops."""

MAX_CONNECTIONS = 256
PATIENCE_S = 30
"""Seconds that a connection may be idle, a request may take to arrive, or an answer stay unread."""
_DISCARD_S = 0.5
"""Seconds in which the rest of a request is discarded after its answer.

A client may not read the answer until it has sent everything.
"""


class _HttpConnection(H11Protocol):
    """A connection that is closed after `PATIENCE_S`, or sooner if others need its place.

    uvicorn itself waits forever for the rest of a request and for a client that does not read, and
    answers 503 when there are too many connections, so that silent clients block all others.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._has_ended = False
        self._is_receiving = False
        self.last_active = self.loop.time()
        """When a request began, an answer ended, or its client began or stopped to read."""

    @property
    def has_no_request(self) -> bool:
        """True if no request has been received completely."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    @property
    def is_stuck(self) -> bool:
        """True if the client has to send the rest of a request, or to read an answer."""
        return self.conn.their_state is h11.SEND_BODY or self.flow.write_paused

    def is_overdue(self, now: float) -> bool:
        waits = self.has_no_request or self.is_stuck or self.transport.is_closing()
        return waits and now - self.last_active > PATIENCE_S

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection. If there are too many, it replaces the one idle longest."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            oldest = min(
                (
                    connection
                    for connection in _http_connections(self.connections)
                    if connection.has_no_request
                ),
                key=lambda connection: connection.last_active,
            )  # this connection itself, if no other one is idle
            self.connections.discard(oldest)
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request. More parts do not give it more time."""
        if not self._is_receiving:
            self.last_active = self.loop.time()
        super().data_received(data)
        self._is_receiving = self.has_no_request

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a request that has been received completely, and then close the connection."""
        self._has_ended = True
        return self._is_unanswered()

    def on_response_complete(self) -> None:
        self.last_active = self.loop.time()
        super().on_response_complete()
        if self._has_ended and not self._is_unanswered():
            self.transport.close()
        elif self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(_DISCARD_S, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP unless an answer was sent already, and end the request."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        self.transport.close()
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()

    def pause_writing(self) -> None:
        self.last_active = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.last_active = self.loop.time()
        super().resume_writing()

    def _is_unanswered(self) -> bool:
        return not self.has_no_request and self.conn.our_state is h11.SEND_RESPONSE


def listen(host: str, port: int) -> socket.socket:
    """Listen on a loopback address. Port 0 selects a free port.

    Raises OutsideError if the port is in use or not allowed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise OutsideError(
            f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}",
            hint="choose another port, or 0 for a free one",
        ) from error
    # connections inherit it; asyncio only sets it for its own sockets, and then answers wait 40 ms
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket, without a path."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until the process is interrupted."""
    _LimitedServer(app).run(sockets=[listener])


class _LimitedServer(uvicorn.Server):
    """A server that closes connections whose clients are too slow."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_HttpConnection,
                ws="none",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=PATIENCE_S,
                timeout_graceful_shutdown=_GOODBYE_S,
                h11_max_incomplete_event_size=_HEAD_BYTES,
            )
        )

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            self._close_overdue()
        return await super().on_tick(counter)

    def _close_overdue(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in _http_connections(self.server_state.connections):
            if connection.is_overdue(now):
                connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for pending answers, but not for clients that stopped to send or to read."""
        for connection in _http_connections(self.server_state.connections):
            if connection.is_stuck:
                connection.transport.abort()
        await super().shutdown(sockets)


class LoopServer(_LimitedServer):
    """A server in an event loop that has other work, whose owner handles signals.

    `serve(sockets=[...])` returns after `stop`, when pending answers are delivered.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        """Wait until `stop` is called. uvicorn's own loop wakes the process ten times a second."""
        while not self._stopped.is_set():
            self._close_overdue()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), 1)


def _http_connections(connections: Iterable[object]) -> list[_HttpConnection]:
    """Return connections with the type that this package gives them."""
    return [connection for connection in connections if isinstance(connection, _HttpConnection)]
