"""Serves MCP over HTTP on a loopback address, to clients that have the project's token."""

import hmac
import os
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from remora.errors import OutsideError
from remora.mcp.client_settings import PATH, server_url


def serve_http(
    server: Server[Any], address: tuple[str, int], token: str, ready: Callable[[str], None]
) -> None:
    """Serve until the process is interrupted. `ready` gets the URL.

    Requests need the token, and requests for other hosts or from other origins are refused. Raises
    OutsideError if the address is in use.
    """
    host, port = address
    config = uvicorn.Config(
        TokenCheck(server.streamable_http_app(streamable_http_path=PATH), token),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=3,
    )
    try:
        listener = socket.create_server((host, port), family=_family(host))
    except OSError as error:
        reason = f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}"
        raise OutsideError(reason, hint="choose another port, or 0 for a free one") from error
    ready(server_url((host, listener.getsockname()[1])))
    uvicorn.Server(config).run(sockets=[listener])


class TokenCheck:
    """Refuses HTTP requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("authorization", "") if scope["type"] == "http" else None
        if given is not None and not hmac.compare_digest(given.encode(), self._expected):
            refusal = PlainTextResponse(
                "a token is required; `remora mcp --print-config CLIENT --http PORT` prints it\n",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
