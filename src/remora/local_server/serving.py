"""Serves applications over HTTP on a loopback address, with uvicorn."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp

from remora.errors import OutsideError
from remora.local_server.http_connection import PATIENCE_S, HttpConnection, http_connections

_HEAD_BYTES = 16 * 1024
_GOODBYE_S = 2
"""Seconds that pending answers may take when the server stops."""


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
                http=HttpConnection,
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
        for each in http_connections(self.server_state.connections):
            if each.is_overdue(now):
                each.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for pending answers, but not for clients that stopped to send or to read."""
        for each in http_connections(self.server_state.connections):
            if each.is_stuck:
                each.transport.abort()
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
