"""Loopback HTTP server: `POST /v1/{type}` with a bearer token.

Results and request errors have status 200. Other statuses are for transport errors: 400 for invalid
HTTP, 401 for a missing or wrong token, 403 for another host or origin, 404 for an unknown path, 405
for a wrong method, and 413 for a request that is too large.
"""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from typing import cast
from urllib.parse import urlsplit

import h11

from remora.hub.protocol import MAX_BYTES, Code, Refused, Subscribe, problem_line
from remora.hub.server.connections import PATIENCE_S, QUIET_S, WRITE_LIMIT, Connections
from remora.hub.server.handler import Handler, answer_body

_PREFIX = b"/v1/"
_OURS = {"127.0.0.1", "localhost", "::1"}
_HEAD_BYTES = 16 * 1024
MAX_CONNECTIONS = 256
_REASONS: dict[int, Code] = {
    400: "bad_request",
    401: "bad_request",
    403: "bad_request",
    404: "unknown_type",
    405: "bad_request",
    413: "too_large",
}


class _Rejected(Exception):
    """The server rejected a request at the HTTP level."""

    def __init__(self, status: int, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class HttpConnections(Connections["HttpConnection"]):
    def __init__(self, handler: Handler, token: str, *, most: int = MAX_CONNECTIONS) -> None:
        super().__init__(most)
        self.handler = handler
        self.token = token.encode("ascii")

    def made(self) -> asyncio.Protocol:
        return HttpConnection(self)


class HttpConnection(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, connections: HttpConnections) -> None:
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        self._target = b""
        self._body = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._full = self._discarding = False
        self.last_active = self._loop.time()

    @property
    def idle(self) -> bool:
        return self._task is None and self._unsubscribe is None

    def overdue(self, now: float) -> bool:
        """Return True if the connection has been inactive for too long.

        Subscribers and clients that wait for an answer may be inactive.
        """
        return (self._full or self.idle) and now - self.last_active > PATIENCE_S

    def abort(self) -> None:
        self.transport.abort()

    def close(self) -> None:
        self.transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept connections from any local process. The token is checked later."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_LIMIT)
        if not self._connections.enter(self):
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio signature)
        self._connections.leave(self)
        if self._task is not None:
            self._task.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()

    def data_received(self, data: bytes) -> None:
        """Process received data, which may contain part of a request or several requests."""
        self.last_active = self._loop.time()
        if self._discarding or self._unsubscribe is not None:
            return
        try:
            self._http.receive_data(data)
        except h11.RemoteProtocolError:
            self.transport.close()
            return
        self._answer_complete()
        if self._full:  # otherwise input would be buffered without limit
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        """Answer the requests that have been received completely."""
        if not self._discarding and self._unsubscribe is None:
            self._http.receive_data(b"")
            self._answer_complete()
        return self._task is not None

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self.last_active = self._loop.time()
        self._answer_complete()

    def _answer_complete(self) -> None:
        """Answer all complete requests, one after another."""
        while self._free() and not self.transport.is_closing():
            try:
                if (event := self._http.next_event()) is h11.NEED_DATA:
                    self.transport.resume_reading()
                    return
                if event is h11.PAUSED:
                    self.transport.pause_reading()
                    return
                self._handle(event)
            except _Rejected as rejected:
                self._reject(rejected)
                return
            except h11.RemoteProtocolError as error:
                self._reject(_Rejected(error.error_status_hint, str(error)))
                return

    def _free(self) -> bool:
        return self._task is None and self._unsubscribe is None and not self._full

    def _handle(self, event: object) -> None:
        match event:
            case h11.Request():
                self._check(event)
                self._target, self._body = bytes(event.target), bytearray()
                if self._http.they_are_waiting_for_100_continue:
                    go_ahead = h11.InformationalResponse(status_code=100, headers=[])
                    self.transport.write(self._http.send(go_ahead))
            case h11.Data():
                self._body += event.data
                if len(self._body) > MAX_BYTES:
                    raise _too_large()
            case h11.EndOfMessage():
                self._ask()
            case h11.ConnectionClosed():
                self.transport.close()

    def _check(self, request: h11.Request) -> None:
        """Check the host, origin, token, path, method and size before the body is read.

        Raises _Rejected if a check fails.
        """
        headers = dict(request.headers)
        host = headers.get(b"host", b"").decode("latin-1")
        port = self.transport.get_extra_info("sockname")[1]
        if not _is_ours(f"http://{host}", port):
            raise _Rejected(403, f"{host or 'no host'} is not the address of this server")
        if b"origin" in headers and not _is_ours(headers[b"origin"].decode("latin-1"), port):
            raise _Rejected(403, "requests from other origins are refused")
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(
            token.strip(), self._connections.token
        ):
            message = "a token is required; `remora hub status` shows the token file"
            raise _Rejected(401, message, ("WWW-Authenticate", "Bearer"))
        if not request.target.startswith(_PREFIX):
            raise _Rejected(404, "unknown path; use /v1/{type}")
        if request.method != b"POST":
            raise _Rejected(405, "use POST", ("Allow", "POST"))
        length = headers.get(b"content-length", b"0")
        if int(length) > MAX_BYTES:
            raise _too_large()

    def _ask(self) -> None:
        request, answer = answer_body(
            self._connections.handler, _as_line(self._target, bytes(self._body))
        )
        if isinstance(answer, bytes):
            if isinstance(request, Subscribe):
                self._stream(answer)
            else:
                self._respond(200, answer)
        else:
            self.transport.pause_reading()
            self._task = self._loop.create_task(self._answer(answer))

    async def _answer(self, answer: Awaitable[bytes]) -> None:
        line = await answer
        self._task = None
        self.last_active = self._loop.time()
        self._respond(200, line)
        self._answer_complete()

    def _respond(self, status: int, line: bytes, *headers: tuple[str, str]) -> None:
        length = ("Content-Length", str(len(line)))
        self._send(h11.Response(status_code=status, headers=[*_HEADERS, length, *headers]))
        self._send(h11.Data(data=line))
        self._send(h11.EndOfMessage())
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        elif not self._discarding:
            self.transport.close()

    def _stream(self, line: bytes) -> None:
        """Send `line`, and then a line for each change until the client disconnects."""
        self._unsubscribe = self._connections.handler.subscribe(self._send_event)
        headers = [("Content-Type", "application/x-ndjson"), ("Cache-Control", "no-store")]
        self._send(h11.Response(status_code=200, headers=headers))
        self._send(h11.Data(data=line))

    def _send_event(self, line: bytes) -> None:
        if self.transport.get_write_buffer_size() + len(line) > WRITE_LIMIT:
            self.transport.abort()
        else:
            self._send(h11.Data(data=line))

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def _reject(self, rejected: _Rejected) -> None:
        """Send the reason for a rejection and discard further input.

        Input must still be read, because a client may not read the reason until it has sent
        everything.
        """
        self._discarding = True
        if self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            code = _REASONS.get(rejected.status, "bad_request")
            line = problem_line(Refused(code, str(rejected)))
            self._respond(rejected.status, line, ("Connection", "close"), *rejected.headers)
        self.transport.resume_reading()
        self._loop.call_later(QUIET_S, self.transport.close)


_HEADERS = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))


def _is_ours(address: str, port: int) -> bool:
    """Return True if `address` is the address of this server.

    A different port on the same machine is a different origin.
    """
    try:
        found = urlsplit(address)
        named = found.port or 80
    except ValueError:
        return False
    return found.scheme == "http" and found.hostname in _OURS and named == port


def _too_large() -> _Rejected:
    return _Rejected(413, f"request too large (maximum {MAX_BYTES} bytes)")


def _as_line(target: bytes, body: bytes) -> bytes:
    """Convert a request to a line of the socket protocol. The type is taken from the path."""
    kind = target[len(_PREFIX) :].partition(b"?")[0].decode("latin-1")
    try:
        data = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        return body  # the protocol decoder reports the error
    return body if not isinstance(data, dict) else json.dumps({**data, "type": kind}).encode()
