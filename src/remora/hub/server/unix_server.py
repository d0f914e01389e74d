"""Unix socket server.

Each line is a JSON request. Requests on a connection are answered in order.
"""

import asyncio
import select
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable

from remora.hub.process.socket_listener import BACKLOG, Listener, is_ours
from remora.hub.protocol import MAX_BYTES, Refused, Subscribe, problem_line
from remora.hub.server.handler import Handler, answer_body

MAX_CONNECTIONS = 2048
_UNREAD_LIMIT = 1 << 20  # bytes above which requests wait and a subscriber is dropped
_PATIENCE_S = 30.0  # that a request may stay unfinished, or an answer unread
_QUIET_S = 0.5  # of silence before a connection that sent too much is closed
_AT_ONCE = 16  # lines of one connection answered before other connections get a turn
_PART = 1 << 16
_DISCARD = 64 * MAX_BYTES


class UnixConnections:
    """At most `most` open connections.

    If the limit is reached, a new connection replaces the connection that has been idle longest, so
    that idle clients cannot block new clients.
    """

    def __init__(self, handler: Handler, *, most: int = MAX_CONNECTIONS) -> None:
        self._handler = handler
        self._most = most
        self._open: set[UnixConnection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def reap(self, now: float) -> None:
        for guest in [connection for connection in self._open if connection.is_overdue(now)]:
            guest.abort()

    def close(self) -> None:
        """Close all connections. Pending output is still delivered if possible."""
        for guest in self._open:
            guest.close()

    async def finish(self, seconds: float) -> None:
        """Wait up to `seconds` for pending answers."""
        if working := [connection.task for connection in self._open if connection.task is not None]:
            await asyncio.wait(working, timeout=seconds)

    async def listen(self, listener: Listener) -> asyncio.AbstractServer:
        return await asyncio.start_unix_server(
            self._serve, sock=listener.socket, backlog=BACKLOG, limit=_PART
        )

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve a client that belongs to the daemon's user, unless there are too many."""
        guest = UnixConnection(self._handler, reader, writer)
        try:
            if not is_ours(writer.get_extra_info("socket")):
                guest.abort()
            elif not self._has_room():
                writer.write(problem_line(Refused("busy", "too many connections")))
            else:
                self._open.add(guest)
                await guest.serve()
        except OSError:  # the client is gone
            pass
        finally:
            self._open.discard(guest)
            guest.close()

    def _has_room(self) -> bool:
        """Return True if there is room for a connection, or an idle one that was closed."""
        if len(self._open) < self._most:
            return True
        if not (idle := [connection for connection in self._open if connection.is_idle]):
            return False
        oldest = min(idle, key=lambda connection: connection.last_active)
        oldest.abort()
        self._open.discard(oldest)
        return True


class UnixConnection:
    """A client connection. `task` computes the current slow answer, if any."""

    def __init__(self, handler: Handler, reader: StreamReader, writer: StreamWriter) -> None:
        self._handler = handler
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=_UNREAD_LIMIT)
        self._line = b""
        self._is_unread = False
        self._unsubscribe: Callable[[], None] | None = None
        self.task: asyncio.Future[bytes] | None = None
        self._mark_active()

    @property
    def is_idle(self) -> bool:
        return self.task is None and self._unsubscribe is None

    def is_overdue(self, now: float) -> bool:
        """Return True if a line has been incomplete or an answer has been unread for too long."""
        if self._reader.at_eof() and self._is_gone():
            return True
        waiting = self._is_unread or (self._line and self.task is None)
        return bool(waiting) and now - self.last_active > _PATIENCE_S

    def abort(self) -> None:
        self._writer.transport.abort()

    def close(self) -> None:
        self._writer.close()
        if self._unsubscribe is not None:
            self._unsubscribe()

    async def serve(self) -> None:
        """Answer requests until the client disconnects. Raises OSError if the connection breaks.

        The last line does not need a newline.
        """
        while part := await self._reader.read(_PART):
            self._mark_active()
            *lines, self._line = (self._line + part).split(b"\n")
            for number, line in enumerate(lines, 1):
                if len(line) > MAX_BYTES:
                    await self._refuse_large(is_complete=True)
                    return
                await self._answer_line(line)
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            if len(self._line) > MAX_BYTES:
                await self._refuse_large(is_complete=False)
                return
        await self._answer_line(self._line)
        if self._unsubscribe is not None:
            await self._writer.wait_closed()

    def _mark_active(self) -> None:
        self.last_active = asyncio.get_running_loop().time()

    def _is_gone(self) -> bool:
        """Return True if a client that closed its sending side has disconnected completely."""
        poll = select.poll()
        poll.register(self._writer.get_extra_info("socket").fileno(), 0)
        return bool(poll.poll(0))

    async def _answer_line(self, line: bytes) -> None:
        if not line.strip():
            return
        request, answer = answer_body(self._handler, line)
        if not isinstance(answer, bytes):
            self.task = asyncio.ensure_future(answer)
            answer = await self.task
            self.task = None
        elif isinstance(request, Subscribe) and self._unsubscribe is None:
            self._unsubscribe = self._handler.subscribe(self._send_event)
        await self._write(answer)

    async def _write(self, answer: bytes) -> None:
        """Write an answer, and wait as long as the client leaves too much unread."""
        self._writer.write(answer)
        self._is_unread = True
        await self._writer.drain()
        self._is_unread = False
        self._mark_active()

    def _send_event(self, line: bytes) -> None:
        if self._writer.transport.get_write_buffer_size() + len(line) > _UNREAD_LIMIT:
            self.abort()
            self.close()
        else:
            self._writer.write(line)

    async def _refuse_large(self, *, is_complete: bool) -> None:
        """Send an error, and discard the rest of the line.

        It must still be read, because a client may not read the error until it has sent everything.
        """
        self._line = b""
        message = f"request too large (maximum {MAX_BYTES} bytes)"
        await self._write(problem_line(Refused("too_large", message)))
        left = 0 if is_complete else _DISCARD
        try:
            while left > 0:
                part = await asyncio.wait_for(self._reader.read(_PART), _QUIET_S)
                left = 0 if not part or b"\n" in part else left - len(part)
        except TimeoutError:
            return
