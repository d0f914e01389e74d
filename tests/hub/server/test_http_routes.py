"""Loopback HTTP: the same questions and answers, for who has the token."""

import json
import select
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from remora.hub.protocol import MAX_BYTES
from remora.hub.server.http_routes import HubHttp
from remora.local_server import serving
from tests.hub.conftest import Served
from tests.hub.daemon.hub_process import wait_until

TOKEN = "t" * 43


class ServedHttp(Served):
    port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        server = HubHttp(self.desk, TOKEN, ("127.0.0.1", 0))
        self.port = int(server.url.rpartition(":")[2])
        yield
        await server.close()

    def announce(self, *, size: int) -> None:
        """Send an event of some bytes to the first subscriber, in lines of 64 KB."""
        send = self.desk.told[0]
        for _ in range(size >> 16):
            self.loop.call_soon_threadsafe(send, b"x" * (1 << 16))


@pytest.fixture(scope="module")
def served() -> Iterator[ServedHttp]:
    served = ServedHttp()
    yield served
    served.close()


@pytest.fixture
def http(served: ServedHttp) -> Iterator[httpx2.Client]:
    with httpx2.Client(
        base_url=f"http://127.0.0.1:{served.port}",
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=20,
        trust_env=False,
    ) as client:
        yield client


def request_to(served: ServedHttp, kind: str, body: dict[str, Any]) -> bytes:
    said = json.dumps(body).encode()
    head = f"POST /v1/{kind} HTTP/1.1\r\nHost: localhost:{served.port}\r\n"
    head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(said)}\r\n\r\n"
    return head.encode() + said


def read_all(raw: socket.socket) -> bytes:
    said = b""
    while part := raw.recv(1 << 16):
        said += part
    return said


def test_the_same_question_gets_the_same_answer_with_any_body(http: httpx2.Client) -> None:
    done = http.post("/v1/health", json={"id": 5})
    assert done.status_code == 200
    assert done.json() == {
        "id": 5,
        "ok": True,
        "generation": 1,
        "result": {"status": "ok", "protocol": 1},
    }
    assert http.post("/v1/health").json()["ok"] is True
    assert http.post("/v1/health", json={"type": "status"}).json()["result"]["protocol"] == 1


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("nothing", b"{}", "unknown_type"),
        ("health", b"[]", "bad_request"),
        ("health", b"{", "bad_json"),
        ("get_node", b"{}", "bad_request"),
        ("get_node", b'{"node": "x"}', "unknown_node"),
        ("get_node", b'{"node": "bug"}', "internal"),
    ],
)
def test_what_is_wrong_is_in_the_answer(
    http: httpx2.Client, kind: str, body: bytes, code: str
) -> None:
    done = http.post(f"/v1/{kind}", content=body)
    assert (done.status_code, done.json()["error"]["code"]) == (200, code)


def test_a_megabyte_is_taken_and_more_is_413(http: httpx2.Client) -> None:
    rest = MAX_BYTES - len('{"x":""}')
    assert http.post("/v1/health", content=b'{"x":"' + b"a" * rest + b'"}').status_code == 200
    assert http.post("/v1/health", content=b"a" * (MAX_BYTES + 1)).status_code == 413


def test_a_silent_client_is_closed(served: ServedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "PATIENCE_S", 0.1)
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        raw.sendall(b"POST /v1/hea")
        with suppress(ConnectionResetError):
            assert raw.recv(1) == b""


@pytest.mark.parametrize(
    "begin", [b"POST /v1/health HTTP/1.1\r\nX: ", pytest.param(b"", marks=pytest.mark.slow)]
)
def test_a_client_that_sends_a_request_slowly_is_closed(
    served: ServedHttp, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(serving, "PATIENCE_S", 0.1)
    head = begin or request_to(served, "health", {"id": "x" * 10_000})[:-9_000]
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        raw.sendall(head)
        with suppress(OSError):  # until it is closed
            for _ in range(400):
                raw.sendall(b"x")
                time.sleep(0.02)
            pytest.fail("the request got more time with each part")


def test_idle_connections_do_not_block_new_clients(
    served: ServedHttp, http: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 8)
    idle = [socket.create_connection(("127.0.0.1", served.port), timeout=20) for _ in range(12)]
    try:
        for half in idle[::2]:
            with suppress(OSError):  # it may be closed already
                half.sendall(b"POST /v1/health HT")
        assert http.post("/v1/health").json()["ok"] is True
        gone, _, _ = select.select(idle, [], [], 0)
        assert len(gone) == 5  # of 12 and one more, 8 are open
    finally:
        for one in idle:
            one.close()


def test_subscribe_streams_lines_until_the_client_goes(
    served: ServedHttp, http: httpx2.Client
) -> None:
    with http.stream("POST", "/v1/subscribe", json={"id": 3}) as stream:
        lines = stream.iter_lines()
        assert json.loads(next(lines))["id"] == 3
        event = b'{"event":"changed","generation":2,"changed":[]}\n'
        served.loop.call_soon_threadsafe(served.desk.told[0], event)
        assert json.loads(next(lines))["generation"] == 2
    wait_until(lambda: not served.desk.told, "until the subscriber is forgotten")


def test_a_subscriber_that_does_not_read_is_dropped(
    served: ServedHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        raw.sendall(request_to(served, "subscribe", {}))
        wait_until(lambda: served.desk.told)
        served.announce(size=16 << 20)  # more than the kernel and the server keep
        monkeypatch.setattr(serving, "PATIENCE_S", 0.1)
        wait_until(lambda: not served.desk.told, "until the subscriber is dropped")


def test_stopping_ends_subscriptions_and_waits_for_no_client() -> None:
    served = ServedHttp()
    with ExitStack() as stack:
        stack.callback(served.close)
        silent, unread, subscriber, asker = (
            stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=20))
            for _ in range(4)
        )
        silent.sendall(request_to(served, "health", {})[:-1])
        unread.sendall(request_to(served, "subscribe", {}))
        wait_until(lambda: served.desk.told)
        served.announce(size=3 << 20)
        time.sleep(0.2)  # until the kernel has taken what it keeps
        served.announce(size=3 << 20)
        subscriber.sendall(request_to(served, "subscribe", {}))
        asker.sendall(request_to(served, "search", {"id": 7, "query": "", "limit": 500}))
        time.sleep(0.2)  # until the question was read
        assert len(served.desk.told) == 2
        began = time.monotonic()
        served.close()
        assert time.monotonic() - began < 1.9  # less than the patience with pending answers
        assert read_all(subscriber).endswith(b"0\r\n\r\n")
        assert b'"id":7' in read_all(asker)
