"""The socket: order, limits, and nobody hurt by a client that is slow or broken."""

import asyncio
import select
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.hub.process.socket_listener import Listener
from remora.hub.protocol import MAX_BYTES
from remora.hub.server.unix_server import UnixConnections
from tests.hub.conftest import Client, Served


class ServedSocket(Served):
    def __init__(self, path: Path, most: int) -> None:
        self.path = path
        self._most = most
        self.connections: UnixConnections
        super().__init__()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        listener = Listener(self.path)
        self.connections = UnixConnections(self.desk, most=self._most)
        server = await self.connections.listen(listener)
        yield
        server.close()
        self.connections.close()
        await asyncio.sleep(0)
        listener.close()

    def call(self, function: object, *args: object) -> None:
        self.loop.call_soon_threadsafe(function, *args)  # type: ignore[arg-type]

    def reap_until_closed(self, client: Client) -> None:
        """Reap as after an hour, again and again: what the client sent may arrive late."""
        until = time.monotonic() + 20
        while not select.select([client.socket], [], [], 0.01)[0] and time.monotonic() < until:
            self.call(self.connections.reap, self.loop.time() + 3600)


@pytest.fixture(params=[64])
def served(request: pytest.FixtureRequest, short: Path) -> Iterator[ServedSocket]:
    served = ServedSocket(short / "run" / "hub.sock", request.param)
    yield served
    served.close()


@pytest.fixture
def client(served: ServedSocket) -> Iterator[Client]:
    with Client(served.path) as client:
        yield client


def test_the_socket_is_for_one_user_and_taken_once(served: ServedSocket) -> None:
    assert served.path.parent.stat().st_mode & 0o777 == 0o700
    assert served.path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutsideError, match="another process is listening"):
        Listener(served.path)
    with Client(served.path) as client:
        assert client.ask("health")["ok"] is True


def test_lines_of_any_form_are_answered_in_order(client: Client) -> None:
    client.send(
        {"id": 1, "type": "search", "query": "a", "limit": 80},
        {"id": 2, "type": "health"},
        {"id": 3, "type": "search", "query": "a", "limit": 1},
        {"id": 4, "type": "get_node", "node": "x"},
    )
    assert [client.read()["id"] for _ in range(4)] == [1, 2, 3, 4]
    client.send(b"".join(b'{"id":%d,"type":"health"}\n' % n for n in range(5000)))
    assert [client.read()["id"] for _ in range(5000)] == list(range(5000))
    client.send(b"\n  \n\r\n", {"id": 1, "type": "health"})
    assert client.read()["id"] == 1
    client.send(b"\xff\x00garbage\n", b"[]\n")
    assert client.read()["error"]["code"] == "bad_json"
    assert client.read()["error"]["code"] == "bad_request"
    assert client.ask("health")["ok"] is True
    for piece in (b'{"id": 1, "ty', b'pe": "hea', b'lth"}\n{"id": 2', b', "type": "health"}\n'):
        client.send(piece)
    assert [client.read()["id"], client.read()["id"]] == [1, 2]
    line = b'{"id":1,"type":"health","x":"'
    client.send(line + b"a" * (MAX_BYTES - len(line) - 2) + b'"}\n')
    assert client.read()["ok"] is True


def test_a_question_that_fails_is_reported_and_ends_nothing(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    said = client.ask("get_node", id=9, node="bug")
    assert (said["id"], said["error"]["code"]) == (9, "internal")
    assert client.ask("get_node", id=9, node="x")["error"]["code"] == "unknown_node"
    assert "a request failed" in caplog.text


@pytest.mark.parametrize("end", [b"\n", b""])
def test_more_than_a_megabyte_is_too_large_then_closed(client: Client, end: bytes) -> None:
    client.send({"id": 1, "type": "health"}, b'{"id":2,"x":"' + b"a" * 3 * MAX_BYTES + end)
    assert client.read()["id"] == 1
    said = client.read()
    assert (said["id"], said["error"]["code"]) == (None, "too_large")
    assert client.read() is None


def test_a_half_closed_connection_is_answered(client: Client) -> None:
    client.send({"id": 1, "type": "search", "query": "a", "limit": 50}, b'{"id":2,"type":"health"}')
    client.socket.shutdown(socket.SHUT_WR)
    assert [client.read()["id"], client.read()["id"], client.read()] == [1, 2, None]


@pytest.mark.slow
def test_a_client_that_does_not_read_delays_nobody_and_is_asked_nothing_more(
    served: ServedSocket, client: Client
) -> None:
    with Client(served.path) as deaf:
        deaf.socket.setblocking(False)
        question = b'{"type":"search","limit":0,"query":"' + b"a" * 200 + b'"}\n'
        sent = 0
        # not that it is full for a moment: that nobody makes room in it any more
        while sent < 40_000_000 and select.select([], [deaf.socket], [], 3.0)[1]:
            with suppress(BlockingIOError):
                sent += deaf.socket.send(question)
        assert client.ask("health")["ok"] is True
        assert sent < 40_000_000


def test_a_client_that_sends_half_a_line_delays_nobody(
    served: ServedSocket, client: Client
) -> None:
    with Client(served.path) as half:
        half.send(b'{"type": "hea')
        assert client.ask("health")["ok"] is True
        served.reap_until_closed(half)
        assert half.read() is None
        assert client.ask("health")["ok"] is True


def test_a_subscriber_gets_the_answer_then_the_events(served: ServedSocket, client: Client) -> None:
    said = client.ask("subscribe", id=4)
    assert said == {"id": 4, "ok": True, "generation": 1, "result": None}
    served.call(served.desk.told[0], b'{"event":"changed","generation":2,"changed":[]}\n')
    assert client.read() == {"event": "changed", "generation": 2, "changed": []}
    assert client.ask("health")["ok"] is True


def test_a_subscriber_that_does_not_read_is_dropped(served: ServedSocket, client: Client) -> None:
    with Client(served.path) as slow:
        slow.ask("subscribe")
        line = b'{"event":"' + b"x" * 100_000 + b'"}\n'
        dropped = threading.Event()

        def tell() -> None:
            for _ in range(40):
                if served.desk.told:
                    served.desk.told[0](line)
            served.loop.call_soon(lambda: dropped.set() if not served.desk.told else None)

        served.call(tell)
        assert dropped.wait(20)
        assert client.ask("health")["ok"] is True


def test_a_missing_subscriber_is_forgotten(served: ServedSocket, client: Client) -> None:
    with Client(served.path) as gone:
        gone.ask("subscribe")
    deadline = threading.Event()
    for _ in range(400):
        served.call(served.connections.reap, 0.0)
        assert client.ask("health")["ok"] is True
        if not served.desk.told:
            return
        deadline.wait(0.05)
    pytest.fail("the subscriber is still remembered")


@pytest.mark.parametrize("served", [8], indirect=True)
def test_the_idlest_connection_is_closed_if_all_are_taken(served: ServedSocket) -> None:
    clients = [Client(served.path) for _ in range(30)]
    try:
        assert clients[-1].ask("health")["ok"] is True
        assert len(served.connections) <= 8
        assert clients[0].read() is None
    finally:
        for client in clients:
            client.close()


def test_a_thousand_connections_that_come_and_go_leave_nothing(served: ServedSocket) -> None:
    for number in range(1000):
        with Client(served.path) as client:
            if number % 3:
                client.send(b'{"type":"health"}\n' if number % 3 == 1 else b"{{{")
    with Client(served.path) as client:
        for _ in range(400):
            if client.ask("health")["ok"] and len(served.connections) == 1:
                return
            threading.Event().wait(0.05)
    pytest.fail(f"{len(served.connections)} are still open")


def test_a_dead_daemons_socket_is_taken_over_and_another_programs_is_not(short: Path) -> None:
    path = short / "hub.sock"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    listener = Listener(path)
    assert not listener.is_lost()
    path.unlink()
    assert listener.is_lost()
    listener.close()
    assert list(short.iterdir()) == []
    path = short / "other.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(OutsideError, match="another process is listening"):
            Listener(path)
        assert path.exists()


@pytest.mark.parametrize(
    ("name", "why"), [("hub.sock", "not a socket"), ("hub.sock.lock", "is not a Hub lock file")]
)
def test_another_programs_file_is_left_alone(short: Path, name: str, why: str) -> None:
    (short / name).write_text("mine")
    with pytest.raises(OutsideError, match=why):
        Listener(short / "hub.sock")
    assert (short / name).read_text() == "mine"
