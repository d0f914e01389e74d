"""The Hub over loopback HTTP: `POST /v1/{type}` with a bearer token.

Results and request errors have status 200. Other statuses are for transport errors: 400 for invalid
HTTP, 401 for a missing or wrong token, 403 for another host or origin, 404 for an unknown path, 405
for a wrong method, and 413 for a request that is too large.
"""

import asyncio
import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from remora.hub.protocol import MAX_BYTES, Code, Refused, Subscribe, problem_line
from remora.hub.server.handler import Handler, answer_body
from remora.local_server.request_guard import BearerToken, LocalOnly
from remora.local_server.serving import LoopServer, listen, url_of

_UNSENT_LIMIT = 4 << 20
"""Bytes of unsent lines above which a subscriber is dropped. One change can be several lines."""
_HEADERS = {"Cache-Control": "no-store"}
_CODES: dict[int, Code] = {404: "unknown_type", 413: "too_large"}
_MESSAGES = {404: "unknown path; use /v1/{type}", 405: "use POST"}
_TOKEN_HINT = "`remora hub status` shows the token file"  # noqa: S105 (a message)


class HubHttp:
    """The daemon's HTTP server. `task` ends with it."""

    def __init__(self, handler: Handler, token: str, address: tuple[str, int]) -> None:
        """Serve in the running event loop. Raises OutsideError if the address cannot be used."""
        self._handler = handler
        self._streams: set[ChangeStream] = set()
        listener = listen(*address)
        self.url = url_of(listener)
        routes = Starlette(
            routes=[Route("/v1/{type:path}", self._answer, methods=["POST"])],
            exception_handlers={HTTPException: _refuse, ClientDisconnect: _ignore},
        )
        routes.router.redirect_slashes = False
        guarded = BearerToken(routes, token, _TOKEN_HINT, _problem)
        self._server = LoopServer(LocalOnly(guarded, _problem))

        serving = self._server.serve(sockets=[listener])
        self.task = asyncio.get_running_loop().create_task(serving)

    async def close(self) -> None:
        """End subscriptions, deliver pending answers, and stop."""
        self._server.stop()
        for stream in list(self._streams):
            stream.end()
        await asyncio.wait([self.task])

    async def _answer(self, http: Request) -> Response:
        line = _as_line(http.path_params["type"], await _read_body(http))
        request, answer = answer_body(self._handler, line)
        if not isinstance(answer, bytes):
            answer = await answer
        elif isinstance(request, Subscribe):
            return ChangeStream(self._handler, answer, self._streams)
        return Response(answer, headers=_HEADERS, media_type="application/json")


class ChangeStream(StreamingResponse):
    """An answer to `subscribe`, and then a line for each change until the client disconnects.

    The response ends early if the client does not read.
    """

    def __init__(self, handler: Handler, answer: bytes, streams: "set[ChangeStream]") -> None:
        super().__init__(self._lines(), headers=_HEADERS, media_type="application/x-ndjson")
        self._handler = handler
        self._streams = streams
        self._unsent: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._unsent_bytes = 0
        self._has_ended = False
        self._append(answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unsubscribe = self._handler.subscribe(self._append)
        self._streams.add(self)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.discard(self)
            unsubscribe()

    def end(self) -> None:
        """End the response without the lines that have not been sent."""
        self._has_ended = True
        while not self._unsent.empty():
            self._unsent.get_nowait()
        self._unsent.put_nowait(None)

    def _append(self, line: bytes) -> None:
        self._unsent_bytes += len(line)
        if self._unsent_bytes > _UNSENT_LIMIT:
            self.end()
        elif not self._has_ended:
            self._unsent.put_nowait(line)

    async def _lines(self) -> AsyncIterator[bytes]:
        while (line := await self._unsent.get()) is not None:
            yield line
            self._unsent_bytes -= len(line)


async def _read_body(http: Request) -> bytes:
    """Return the body. Raises HTTPException as soon as it is known to be too large."""
    too_large = HTTPException(413, f"request too large (maximum {MAX_BYTES} bytes)")
    if int(http.headers.get("content-length", 0)) > MAX_BYTES:
        raise too_large
    body = bytearray()
    async for part in http.stream():
        body += part
        if len(body) > MAX_BYTES:
            raise too_large
    return bytes(body)


def _as_line(kind: str, body: bytes) -> bytes:
    """Convert a request to a line of the socket protocol. The type is taken from the path."""
    try:
        data = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        return body  # the protocol decoder reports the error
    return body if not isinstance(data, dict) else json.dumps({**data, "type": kind}).encode()


def _problem(status: int, message: str) -> Response:
    line = problem_line(Refused(_CODES.get(status, "bad_request"), message))
    return Response(line, status, headers=_HEADERS, media_type="application/json")


async def _refuse(_http: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    response = _problem(status, _MESSAGES.get(status, error.detail))
    response.headers.update(error.headers or {})
    return response


async def _ignore(_http: Request, _error: Exception) -> Response:
    """Return an empty response, because the client disconnected."""
    return Response()
