"""Real weights, the real embedded model, and a small HTTP server that misbehaves on purpose."""

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os import environ
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.chat import Answer, Message
from remora.config.user_folders import UserFolders
from remora.models.client.retry_policy import RequestLimits
from remora.models.embedded import weights
from remora.models.embedded.embedded_model import EmbeddedModel
from remora.models.protocol import Decoding, Request


class Seen(msgspec.Struct, frozen=True):
    """One request as the misbehaving server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Canned(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the misbehaving server; `status` 0 breaks the connection.

    `parts` are the bytes of a streamed answer, each after a pause of `delay_s`.
    """

    status: int = 200
    body: Any = {}
    headers: dict[str, str] = {}
    delay_s: float = 0.0
    parts: tuple[bytes, ...] = ()


Route = Canned | list[Canned]


class Misbehaving:
    """Answers by path: always the same, or one after the other and the last for ever."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.routes: dict[str, Route] = {}
        self.seen: list[Seen] = []

    def answer(self, path: str) -> Canned:
        route = self.routes.get(path, Canned(status=404, body={"error": {"message": "no"}}))
        if isinstance(route, Canned):
            return route
        return route.pop(0) if len(route) > 1 else route[0]


def _handler(server: Misbehaving) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond({})

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"] or 0)
            self._respond(json.loads(self.rfile.read(length) or b"{}"))

        def _respond(self, body: dict[str, Any]) -> None:
            server.seen.append(Seen(self.command, self.path, dict(self.headers), body))
            canned = server.answer(self.path)
            if canned.parts:
                _stream(self, canned)
                return
            time.sleep(canned.delay_s)
            if canned.status == 0:
                self.close_connection = True
                return
            found = canned.body
            raw = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(canned.status)
            for name, value in canned.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


def _stream(handler: BaseHTTPRequestHandler, canned: Canned) -> None:
    handler.close_connection = True
    handler.send_response(canned.status)
    handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
    handler.end_headers()
    for part in canned.parts:
        time.sleep(canned.delay_s)
        handler.wfile.write(part)
        handler.wfile.flush()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is what some tests are about."""


@pytest.fixture
def misbehaving() -> Iterator[Misbehaving]:
    """A server at a free port of this machine."""
    http = _Quiet(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server = Misbehaving(f"http://127.0.0.1:{http.server_port}/v1")
    http.RequestHandlerClass = _handler(server)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    yield server
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture(scope="session")
def weights_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the weights of one model; fetched the way a user fetches them."""
    cache = UserFolders.from_environ(environ).cache
    if not weights.check(cache).ok:
        weights.pull(cache)
    alone = tmp_path_factory.mktemp("cache")
    (alone / "models").mkdir()
    weights.weights_path(alone).symlink_to(weights.weights_path(cache))
    return alone


class Asking:
    """A model and the one event loop that its connections live in."""

    def __init__(self, model: EmbeddedModel, runner: asyncio.Runner) -> None:
        self.model = model
        self._runner = runner

    def run(self, work: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await work

        return self._runner.run(wait())

    def ask(self, decoding: Decoding, *texts: str, prompt: str | None = None) -> Answer:
        messages = chat(*texts) if texts else None
        request = Request(messages=messages, prompt=prompt, decoding=decoding)
        answer = self.run(self.model.ask(request))
        assert isinstance(answer, Answer)
        return answer


def chat(system: str, user: str) -> tuple[Message, ...]:
    return (Message(role="system", content=system), Message(role="user", content=user))


@pytest.fixture
def start_embedded(weights_cache: Path) -> Iterator[Callable[..., Asking]]:
    """Makes embedded models that are closed at the end of the test."""
    with asyncio.Runner() as runner:
        started: list[Asking] = []

        def start(
            *, exact: bool = False, max_concurrency: int = 2, timeout_s: float = 60.0
        ) -> Asking:
            limits = RequestLimits(max_concurrency=max_concurrency, timeout_s=timeout_s)
            started.append(Asking(EmbeddedModel(weights_cache, exact=exact, limits=limits), runner))
            return started[-1]

        yield start
        for asking in started:
            asking.run(asking.model.aclose())


@pytest.fixture(scope="session")
def embedded(weights_cache: Path) -> Iterator[Asking]:
    """The embedded model, shared by the tests that do not end it."""
    with asyncio.Runner() as runner:
        asking = Asking(EmbeddedModel(weights_cache, exact=False, limits=RequestLimits()), runner)
        yield asking
        asking.run(asking.model.aclose())


@pytest.fixture
def canned() -> type[Canned]:
    """What the misbehaving server may be told to answer."""
    return Canned


@pytest.fixture
def said() -> Callable[[str, str], tuple[Message, ...]]:
    """A system and a user message."""
    return chat
