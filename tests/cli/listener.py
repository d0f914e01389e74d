"""A model server that records the key of each request that reaches it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from tests.cli.test_faulty_parts import Answers, answer


class Listener:
    """A server and the Authorization header of each request that reached it."""

    def __init__(self, port: int, got: list[str | None]) -> None:
        self.address = f"http://127.0.0.1:{port}/v1"
        self.got = got


@contextmanager
def listening() -> Iterator[Listener]:
    """Answer at a free port with a text that calls no tool."""
    got: list[str | None] = []

    class Recording(Answers):
        body = answer("I would rather not.")

        def _send(self, status: int, body: Any) -> None:
            got.append(self.headers.get("Authorization"))
            super()._send(status, body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Recording) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield Listener(http.server_port, got)
        http.shutdown()
        thread.join()
