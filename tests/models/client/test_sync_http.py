"""The synchronous connection: it repeats what the asynchronous client repeats."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from remora.errors import ModelError
from remora.models.client.answer_stream import LARGEST_BODY
from remora.models.client.retry_policy import RequestLimits
from remora.models.client.server_address import parse_address
from remora.models.client.sync_http import ServerConnection

KEY = "sk-very-secret"


@pytest.fixture
def connection(misbehaving: Any) -> Any:
    limits = RequestLimits(timeout_s=0.5, retries=2, backoff_s=0.001)
    connection = ServerConnection(parse_address(misbehaving.address), key=KEY, limits=limits)
    yield connection
    connection.close()


@pytest.fixture
def dripping() -> Iterator[str]:
    """A server that sends a byte of a long answer every 50 ms."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_drip, args=(listening,))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join()


def _drip(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection, contextlib.suppress(OSError):
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.05)


@pytest.mark.parametrize("status", [503, 0])
def test_counting_survives_a_busy_server(
    connection: ServerConnection, misbehaving: Any, canned: Any, status: int
) -> None:
    misbehaving.routes["/tokenize"] = [canned(status=status), canned(body={"tokens": []})]
    assert connection.post("/tokenize", {}) == {"tokens": []}
    assert misbehaving.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("status", "times"), [(503, 3), (0, 3), (400, 1), (401, 1)])
def test_what_does_not_pass_is_a_model_error_without_the_key(
    connection: ServerConnection, misbehaving: Any, canned: Any, status: int, times: int
) -> None:
    misbehaving.routes["/tokenize"] = canned(status=status, body={"error": f"bad {KEY}"})
    with pytest.raises(ModelError) as caught:
        connection.post("/tokenize", {})
    assert KEY not in caught.value.message
    assert len(misbehaving.seen) == times


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>"])
def test_an_answer_that_is_not_an_object_is_a_model_error(
    connection: ServerConnection, misbehaving: Any, canned: Any, body: bytes
) -> None:
    misbehaving.routes["/tokenize"] = canned(body=body)
    with pytest.raises(ModelError, match="an unusable response"):
        connection.post("/tokenize", {})


def test_a_look_gives_the_object_or_the_status(
    connection: ServerConnection, misbehaving: Any, canned: Any
) -> None:
    misbehaving.routes |= {"/a": canned(body={}), "/b": canned(body=b"x"), "/c": canned(status=500)}
    root = connection.address.root
    assert [connection.request_once("GET", f"{root}/{path}") for path in "abcd"] == [
        {},
        200,
        500,
        404,
    ]


def test_an_endless_answer_is_cut_off(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes["/a"] = canned(body=b"x" * (LARGEST_BODY + 1))
    patient = RequestLimits(timeout_s=30)
    connection = ServerConnection(parse_address(misbehaving.address), key=KEY, limits=patient)
    with pytest.raises(ModelError, match="more than"):
        connection.request_once("GET", f"{connection.address.root}/a")
    connection.close()


def test_a_server_that_drips_is_not_waited_for(dripping: str) -> None:
    limits = RequestLimits(timeout_s=0.3, retries=0)
    connection = ServerConnection(parse_address(dripping), key=None, limits=limits)
    with pytest.raises(ModelError, match=r"within 0\.3 s"):
        connection.request_once("GET", f"{connection.address.root}/a")
    connection.close()


def test_a_silent_server_is_not_waited_for_twice(
    connection: ServerConnection, misbehaving: Any, canned: Any
) -> None:
    misbehaving.routes["/tokenize"] = canned(delay_s=0.8)
    with pytest.raises(ModelError, match=r"within 0\.5 s"):
        connection.post("/tokenize", {})
    assert len(misbehaving.seen) == 1
