"""A model server that counts how many requests it gets at the same time.

It can be stopped, and started again at the same address.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.openai_server import answer, send_json


class LoadServer:
    """A server that takes `delay_s` seconds for each chat.

    `most` is the largest number of chats at the same time, and `chats` their number, which
    used `tokens` tokens. It has the model `model`, and answers with `status`.
    """

    def __init__(self, delay_s: float = 0.02, model: str = "m") -> None:
        self.delay_s = delay_s
        self.model = model
        self.status = 200
        self.most = 0
        self.chats = 0
        self.tokens = 0
        self._now = 0
        self._lock = threading.Lock()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> Self:
        self._http = _Quiet(("127.0.0.1", self.port), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._http is not None and self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()
        self._http = None

    def chat(self, handler: BaseHTTPRequestHandler, size: int) -> None:
        prompt, written = size // 4, 10
        with self._lock:
            self._now += 1
            self.chats += 1
            self.tokens += prompt + written
            self.most = max(self.most, self._now)
        time.sleep(self.delay_s)
        with self._lock:
            self._now -= 1
        usage = {"prompt_tokens": prompt, "completion_tokens": written}
        body = {**answer(text=f"from {self.port}", model=self.model), "usage": usage}
        send_json(handler, body, self.status)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Requests(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listed = [{"id": server.model, "object": "model"}]
                found = self.path == "/v1/models"
                send_json(self, {"object": "list", "data": listed}, 200 if found else 404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/chat/completions":
                    server.chat(self, len(body))
                else:
                    send_json(self, {}, 404)

            def log_message(self, *_args: Any) -> None:
                pass

        return Requests


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: some tests end connections."""


@contextmanager
def load_servers(*delays_s: float) -> Iterator[list[LoadServer]]:
    servers = [LoadServer(delay_s).start() for delay_s in delays_s]
    try:
        yield servers
    finally:
        for server in servers:
            server.stop()
