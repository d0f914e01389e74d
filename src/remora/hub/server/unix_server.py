"""Unix socket server.

Each line is a JSON request. Requests on a connection are answered in order.
"""

import asyncio
import select
from collections.abc import Awaitable, Callable, Iterator
from typing import cast

from remora.hub.protocol import MAX_BYTES, Refused, Subscribe, problem_line
from remora.hub.server.handler import Handler, answer_body
from remora.hub.server.socket_listener import BACKLOG, Listener, is_ours

MAX_CONNECTIONS = 2048
_UNREAD_LIMIT = 1 << 20  # bytes above which requests wait and a subscriber is dropped
_PATIENCE_S = 30.0  # that a request may stay unfinished, or an answer unread
_QUIET_S = 0.5  # of silence before a connection that sent too much is closed
_AT_ONCE = 16  # lines of one connection answered before other connections get a turn
_DISCARD = 64 * MAX_BYTES


class UnixConnections:
    """At most `most` open connections.

    If the limit is reached, a new connection replaces the connection that has been idle longest, so
    that idle clients cannot block new clients.
    """

    def __init__(self, handler: Handler, *, most: int = MAX_CONNECTIONS) -> None:
        self.handler = handler
        self.most = most
        self._open: set[UnixConnection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, guest: "UnixConnection") -> bool:
        """Add a connection. Return False if there is no idle connection to replace."""
        if len(self._open) >= self.most:
            if not (idle := [each for each in self._open if each.idle]):
                return False
            oldest = min(idle, key=lambda each: each.last_active)
            oldest.abort()
            self.leave(oldest)
        self._open.add(guest)
        return True

    def leave(self, guest: "UnixConnection") -> None:
        self._open.discard(guest)

    def reap(self, now: float) -> None:
        for guest in [each for each in self._open if each.overdue(now)]:
            guest.abort()

    def close(self) -> None:
        """Close all connections. Pending output is still delivered if possible."""
        for guest in list(self._open):
            guest.close()

    async def finish(self, seconds: float) -> None:
        """Wait up to `seconds` for pending answers."""
        if working := [each.task for each in self._open if each.task is not None]:
            await asyncio.wait(working, timeout=seconds)

    async def listen(self, listener: Listener) -> asyncio.AbstractServer:
        return await asyncio.get_running_loop().create_unix_server(
            lambda: UnixConnection(self), sock=listener.socket, backlog=BACKLOG
        )


class UnixConnection(asyncio.Protocol):
    """A client connection. `task` computes the current slow answer, if any."""

    def __init__(self, connections: UnixConnections) -> None:
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._scanned = 0
        self.task: asyncio.Task[None] | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._full = self._ended = self._scheduled = False
        self._discarded: int | None = None
        self._quiet: asyncio.TimerHandle | None = None
        self.last_active = self._loop.time()

    @property
    def idle(self) -> bool:
        return self.task is None and self._unsubscribe is None

    def overdue(self, now: float) -> bool:
        """Return True if a line has been incomplete or an answer has been unread for too long."""
        if self._ended and self._is_gone():
            return True
        waiting = self._full or (self._buffer and self.task is None)
        return bool(waiting) and now - self.last_active > _PATIENCE_S

    def _is_gone(self) -> bool:
        """Return True if a client that closed its sending side has disconnected completely."""
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), 0)
        return bool(poll.poll(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection if it belongs to the daemon's user.

        If there are too many connections, refuse it.
        """
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_UNREAD_LIMIT)
        if not is_ours(transport.get_extra_info("socket")):
            self._transport.abort()
        elif not self._connections.enter(self):
            self._transport.write(problem_line(Refused("busy", "too many connections")))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio signature)
        self._connections.leave(self)
        self._buffer.clear()
        if self.task is not None:
            self.task.cancel()
        if self._quiet is not None:
            self._quiet.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()

    def data_received(self, data: bytes) -> None:
        """Process received data, which may contain several lines or part of a line."""
        self.last_active = self._loop.time()
        if self._discarded is not None:
            self._discard(data)
            return
        self._buffer += data
        if (self.task is not None or self._full) and len(self._buffer) > MAX_BYTES:
            self._transport.pause_reading()  # until all received requests are answered
        self._answer_lines()

    def eof_received(self) -> bool:
        """Answer the requests received so far. The last line does not need a newline."""
        self._ended = True
        if self._buffer:
            self._buffer += b"\n"
        self._answer_lines()
        return not self._transport.is_closing()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self.last_active = self._loop.time()
        self._answer_lines()

    def abort(self) -> None:
        self._transport.abort()

    def close(self) -> None:
        self._transport.close()

    def _answer_lines(self) -> None:
        """Answer complete lines in order.

        Stop when an answer is slow or the client does not read, and pause after some lines to give
        other connections a turn.
        """
        lines = self._lines()
        for _ in range(_AT_ONCE):
            if self.task is not None or self._full or self._transport.is_closing():
                return
            if (line := next(lines, None)) is None:
                self._line_missing()
                return
            if line.strip():
                self._answer_line(line)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._pump_again)

    def _pump_again(self) -> None:
        self._scheduled = False
        self._answer_lines()

    def _lines(self) -> Iterator[bytes]:
        while (end := self._buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(memoryview(self._buffer)[:end])
            del self._buffer[: end + 1]
            self._scanned = 0
            yield line

    def _line_missing(self) -> None:
        """Wait for the rest of a line.

        Close the connection if the rest cannot arrive. Refuse a line that is too large.
        """
        self._scanned = len(self._buffer)
        if self._scanned > MAX_BYTES:
            self._too_large()
        elif self._ended and self._unsubscribe is None:
            self._transport.close()
        else:
            self._transport.resume_reading()

    def _answer_line(self, line: bytes) -> None:
        if len(line) > MAX_BYTES:
            self._too_large(complete=True)
            return
        request, answer = answer_body(self._connections.handler, line)
        if isinstance(answer, bytes):
            if isinstance(request, Subscribe) and self._unsubscribe is None:
                self._unsubscribe = self._connections.handler.subscribe(self._send_event)
            self._transport.write(answer)
        else:
            self.task = self._loop.create_task(self._answer(answer))

    async def _answer(self, answer: Awaitable[bytes]) -> None:
        self._transport.write(await answer)
        self.task = None
        self.last_active = self._loop.time()
        self._answer_lines()

    def _send_event(self, line: bytes) -> None:
        if self._transport.get_write_buffer_size() + len(line) > _UNREAD_LIMIT:
            self.abort()
        else:
            self._transport.write(line)

    def _too_large(self, *, complete: bool = False) -> None:
        """Send an error and discard further input.

        Input must still be read, because a client may not read the error until it has sent
        everything.
        """
        message = f"request too large (maximum {MAX_BYTES} bytes)"
        self._transport.write(problem_line(Refused("too_large", message)))
        self._buffer.clear()
        if complete or self._ended:
            self._transport.close()
            return
        self._transport.resume_reading()
        self._discarded = 0
        self._discard(b"")

    def _discard(self, data: bytes) -> None:
        self._discarded = (self._discarded or 0) + len(data)
        if self._quiet is not None:
            self._quiet.cancel()
        if b"\n" in data or self._discarded > _DISCARD:
            self._transport.close()
        else:
            self._quiet = self._loop.call_later(_QUIET_S, self._transport.close)
