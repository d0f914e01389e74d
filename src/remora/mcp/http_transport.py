"""Serves MCP over HTTP on a loopback address, to clients that have the project's token."""

from collections.abc import Callable
from typing import Any

from mcp.server.lowlevel import Server

from remora.local_server.request_guard import BearerToken, LocalOnly
from remora.local_server.serving import listen, serve, url_of
from remora.mcp.client_settings import PATH

_TOKEN_HINT = "`remora mcp --print-config CLIENT --http PORT` prints it"  # noqa: S105 (a message)


def serve_http(
    server: Server[Any], address: tuple[str, int], token: str, ready: Callable[[str], None]
) -> None:
    """Serve until the process is interrupted. `ready` gets the URL.

    Raises OutsideError if the address cannot be used.
    """
    app = server.streamable_http_app(streamable_http_path=PATH)
    listener = listen(*address)
    ready(url_of(listener) + PATH)
    serve(LocalOnly(BearerToken(app, token, _TOKEN_HINT)), listener)
