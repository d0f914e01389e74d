"""A model server that counts its chats."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.openai_server import answer, send_json


class LoadServer:
    """A server that takes `delay_s` seconds for each chat, and counts chats and tokens."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.chats = 0
        self.tokens = 0
        self.http = _Quiet(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self.http.server_port}/v1"

    def chat(self, handler: BaseHTTPRequestHandler, size: int) -> None:
        self.chats += 1
        self.tokens += size // 4 + 10
        time.sleep(self.delay_s)
        usage = {"prompt_tokens": size // 4, "completion_tokens": 10}
        send_json(handler, {**answer(text="written", model="m"), "usage": usage})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Requests(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listed = [{"id": "m", "object": "model"}]
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
def load_server(delay_s: float) -> Iterator[LoadServer]:
    server = LoadServer(delay_s)
    thread = threading.Thread(target=server.http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        thread.join()
        server.http.server_close()
