"""Middleware that refuses requests of web pages, other hosts and clients without the token."""

import hmac
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

Respond = Callable[[int, str], Response]
"""Makes the response of a refusal from its status and its message."""
_NAMES = ("127.0.0.1", "localhost", "[::1]")


def plain_text(status: int, message: str) -> Response:
    return PlainTextResponse(message + "\n", status)


class LocalOnly:
    """Refuses requests whose Host or Origin is not this server, and all WebSockets.

    A page of another site can send requests to a loopback address, and its own name can resolve to
    one. Another port of this machine is another origin.
    """

    def __init__(self, app: ASGIApp, respond: Respond = plain_text) -> None:
        self._app = app
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        elif scope["type"] == "http" and (problem := _find_problem(scope)):
            await self._respond(403, problem)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class BearerToken:
    """Refuses requests without the token, and all if it is empty.

    `hint` says where a user finds it.
    """

    def __init__(self, app: ASGIApp, token: str, hint: str, respond: Respond = plain_text) -> None:
        self._app = app
        self._token = token.encode()
        self._hint = hint
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._has_token(scope):
            await self._app(scope, receive, send)
            return
        refusal = self._respond(401, f"a token is required; {self._hint}")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        await refusal(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        """Compare in constant time, so that response times do not tell how much was right."""
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        given = token.strip().encode() if scheme.lower() == "bearer" else b""
        return bool(given) and hmac.compare_digest(given, self._token)


def _find_problem(scope: Scope) -> str:
    """Return why a request is refused, or an empty string."""
    headers, port = Headers(scope=scope), scope["server"][1]
    own = {f"{name}:{port}" for name in _NAMES} | (set(_NAMES) if port == 80 else set())
    if headers.get("host", "").lower() not in own:
        return "the Host header is not the address of this server"
    if any(
        origin.lower() not in {f"http://{host}" for host in own}
        for origin in headers.getlist("origin")
    ):
        return "requests from other origins are refused"
    return ""
