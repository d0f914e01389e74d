"""Attacks on `hub start --http`: each is refused, and the daemon still answers others at once."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from remora.hub.protocol import MAX_BYTES
from tests.hub.daemon.hub_process import Hub

BIG = b"a" * (MAX_BYTES + 1)


class Victim:
    """A daemon that serves HTTP, and the token for it."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.status = hub.start(http="0")
        self.port = int(self.status["http"].rpartition(":")[2])
        self.token = Path(self.status["token_file"]).read_text().strip()

    def head(self, first: str, **headers: str | None) -> bytes:
        """A request's head. Headers replace the usual ones; those that are None are left out."""
        usual = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in (usual | given).items() if value is not None]
        return "\r\n".join([first, *lines, "\r\n"]).encode("latin-1")

    def health(self, **headers: str | None) -> bytes:
        return self.head("POST /v1/health HTTP/1.1", **headers)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def send(self, *parts: bytes) -> bytes:
        """Send on a new connection, and return what comes back until the server closes it."""
        with self.connect() as raw:
            with suppress(OSError):  # the server may have closed it
                for part in parts:
                    raw.sendall(part)
                raw.shutdown(socket.SHUT_WR)
            return read_all(raw)


def read_all(raw: socket.socket) -> bytes:
    said = b""
    with suppress(ConnectionResetError):
        while part := raw.recv(1 << 16):
            said += part
    return said


def statuses(said: bytes) -> list[int]:
    return [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    home = Path(tmp_path_factory.mktemp("h"))
    hub = Hub(home, home / "project", XDG_RUNTIME_DIR=str(home / "r"))
    hub.write("a.py", "def f():\n    return 1\n")
    yield Victim(hub)
    log = hub.log
    hub.end()
    assert "ERROR" not in log, log
    assert "Traceback" not in log, log


@pytest.fixture(autouse=True)
def others_are_answered(victim: Victim) -> Iterator[None]:
    """After each attack, another client gets its answer soon."""
    yield
    began = time.monotonic()
    assert statuses(victim.send(victim.health(Content_Length="0"))) == [200]
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "example.org"}, 403),
        ({"Host": "example.org:PORT"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "user@127.0.0.1:PORT"}, 403),
        ({"Host": None}, 400),
        ({"Host": "127.0.0.1:PORT\r\nHost: example.org"}, 400),
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:PORT\r\nOrigin: null"}, 403),
        ({"X-Forwarded-Host": "example.org", "Forwarded": "host=example.org"}, 200),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic TOKEN"}, 401),
        ({"Authorization": "Bearer \xe9\xff"}, 401),
        ({"Authorization": "bEARER TOKEN"}, 200),
        ({"Authorization": None, "Origin": "null"}, 403),
        ({"Content-Length": "2\r\nContent-Length: 3"}, 400),
        ({"Content-Length": "-1"}, 400),
        ({"Content-Length": "9" * 30}, 400),
        ({"Content-Length": "9" * 15}, 413),
        ({"Transfer-Encoding": "gzip"}, 400),
        ({"X": "a\x00b"}, 400),
        ({"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x"}, 200),
    ],
)
def test_headers(victim: Victim, headers: dict[str, str | None], status: int) -> None:
    given = {
        name: value and value.replace("PORT", str(victim.port)).replace("TOKEN", victim.token)
        for name, value in headers.items()
    }
    assert statuses(victim.send(victim.health(**given))) == [status]


@pytest.mark.parametrize(
    ("first", "status"),
    [
        ("GET /v1/health HTTP/1.1", 405),
        ("HEAD /v1/health HTTP/1.1", 405),
        ("OPTIONS * HTTP/1.1", 404),
        ("CONNECT 127.0.0.1:22 HTTP/1.1", 404),
        ("POST / HTTP/1.1", 404),
        ("POST /v1 HTTP/1.1", 404),
        ("POST /v1/../etc/passwd HTTP/1.1", 200),
        ("POST http://example.org/v1/health HTTP/1.1", 404),
        ("POST /v1/%ff%00 HTTP/1.1", 200),
        ("POST /v1/health HTTP/1.0", 200),
        ("POST /v1/health", 400),
        ("\x16\x03\x01 nonsense", 400),
    ],
)
def test_request_lines(victim: Victim, first: str, status: int) -> None:
    said = victim.send(victim.head(first))
    assert statuses(said) == [status]
    assert b"server:" not in said.lower()


def test_a_refusal_is_an_answer_of_the_protocol(victim: Victim) -> None:
    for headers, code in (
        ({"Host": "x"}, "bad_request"),
        ({"Content-Length": "9999999"}, "too_large"),
    ):
        answer = json.loads(victim.send(victim.health(**headers)).rpartition(b"\r\n")[2])
        assert (answer["ok"], answer["error"]["code"]) == (False, code)
        assert answer["error"]["message"]


@pytest.mark.parametrize("size", [1 << 10, 1 << 16, 1 << 22])
def test_a_large_body_is_refused_with_and_without_its_length(victim: Victim, size: int) -> None:
    parts = [BIG[start : start + size] for start in range(0, len(BIG), size)]
    chunks = (b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    assert statuses(victim.send(victim.health(Content_Length=str(len(BIG))), *parts)) == [413]
    chunked = victim.health(Transfer_Encoding="chunked")
    assert statuses(victim.send(chunked, *chunks, b"0\r\n\r\n")) == [413]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"2\r\n{}\r\n0\r\n\r\n", 200),
        (b"1;" + b"x" * 100 + b"\r\n{\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n", 200),
        (b"zz\r\n{}\r\n0\r\n\r\n", 400),
        (b"-2\r\n{}\r\n0\r\n\r\n", 400),
        (b"fffffffffffffffffffff\r\n{}", 400),
        (b"1;" + b"x" * 100_000, 400),
    ],
)
@pytest.mark.parametrize("token", ["right", "wrong"])
def test_chunked_bodies(victim: Victim, body: bytes, status: int, token: str) -> None:
    headers = {} if token == "right" else {"Authorization": "Bearer wrong"}
    head = victim.health(Transfer_Encoding="chunked", **headers)
    (got,) = statuses(victim.send(head, body))
    assert got in ({status} if token == "right" else {401, 400})


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/health HTTP/1.1\r\nX: " + b"a" * (1 << 20),
        b"POST /" + b"a" * (1 << 20),
        b"".join(b"X-%d: y\r\n" % n for n in range(100_000)),
    ],
)
def test_a_megabyte_of_headers_is_cut_off(victim: Victim, head: bytes) -> None:
    """The answer can be lost, because the client still sends when the connection is closed."""
    assert statuses(victim.send(head)) in ([400], [])


def test_half_a_request_does_not_delay_others(victim: Victim) -> None:
    with victim.connect() as stalled:
        stalled.sendall(victim.health(Content_Length="100") + b"{")
        began = time.monotonic()
        assert statuses(victim.send(victim.health(Content_Length="0"))) == [200]
        assert time.monotonic() - began < 5


def test_pipelined_requests_are_answered_in_order_and_a_smuggled_one_is_not(victim: Victim) -> None:
    bodies = [json.dumps({"id": number}).encode() for number in range(200)]
    said = victim.send(*(victim.health(Content_Length=str(len(b))) + b for b in bodies))
    answers = [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]
    assert [answer["id"] for answer in answers] == list(range(200))
    inner = victim.health(Content_Length="0")
    head = victim.health(Content_Length=str(len(inner) + 5), Transfer_Encoding="chunked")
    assert len(statuses(victim.send(head, b"0\r\n\r\n", inner))) <= 2
