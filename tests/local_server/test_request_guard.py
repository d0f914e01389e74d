"""Who may ask: called as a server calls it; the daemon and MCP have tests over real sockets."""

import asyncio
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message

from remora.local_server.request_guard import BearerToken, LocalOnly

OPEN = PlainTextResponse("let in")


def ask(
    app: ASGIApp, headers: dict[str, str], *, kind: str = "http", port: int = 8000
) -> list[Message]:
    """Return what an application sends for a request."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": kind, "headers": raw, "server": ("127.0.0.1", port)}

    async def call() -> None:
        await app(scope, receive, send)

    asyncio.run(call())
    return sent


def status(sent: list[Message]) -> int:
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000"]
)
def test_this_server_is_answered(host: str) -> None:
    assert status(ask(LocalOnly(OPEN), {"host": host})) == 200
    assert status(ask(LocalOnly(OPEN), {"host": host, "origin": f"http://{host}"})) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "localhost"},
        {"host": "localhost:80000"},
        {"host": "localhost.example.org:8000"},
        {"host": "localhost:8000", "origin": "null"},
        {"host": "localhost:8000", "origin": ""},
        {"host": "localhost:8000", "origin": "https://localhost:8000"},
        {"host": "localhost:8000", "origin": "http://localhost:8001"},
        {"host": "localhost:8000", "origin": "http://localhost:8000.example.org"},
    ],
)
def test_others_are_refused_in_one_line(headers: dict[str, str]) -> None:
    head, body = ask(LocalOnly(OPEN), headers)
    assert head["status"] == 403
    assert body["body"].count(b"\n") == 1


def test_browsers_leave_out_port_80() -> None:
    headers = {"host": "localhost", "origin": "http://localhost"}
    assert status(ask(LocalOnly(OPEN), headers, port=80)) == 200


def test_websockets_are_refused() -> None:
    (sent,) = ask(LocalOnly(OPEN), {"host": "localhost:8000"}, kind="websocket")
    assert sent["type"] == "websocket.close"


@pytest.mark.parametrize("value", ["Bearer secret", "bearer secret", "BEARER  secret "])
def test_the_token_lets_in(value: str) -> None:
    assert status(ask(BearerToken(OPEN, "secret", "ask"), {"authorization": value})) == 200


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic"])
def test_an_empty_token_lets_nobody_in(value: str) -> None:
    assert status(ask(BearerToken(OPEN, "", "ask"), {"authorization": value})) == 401


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer ", "Basic secret", "secret", "Bearer \xe9"]
)
def test_without_the_token_the_hint_is_shown(value: str) -> None:
    head, body = ask(BearerToken(OPEN, "secret", "look there"), {"authorization": value})
    assert head["status"] == 401
    assert (b"www-authenticate", b"Bearer") in head["headers"]
    assert body["body"] == b"a token is required; look there\n"
