"""A server on loopback with the part of GitHub's REST API that concerns comments."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKENS = {"of-actions": "github-actions[bot]", "of-ana": "ana", "read-only": "github-actions[bot]"}
"""Accounts by token."""


class GitHub(ThreadingHTTPServer):
    """The comments of pull request 7 of `ana/shop`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, login: str, body: str) -> dict[str, Any]:
        kind = "Bot" if login.endswith("[bot]") else "User"
        number = len(self.comments) + 1
        made = {"id": number, "user": {"login": login, "type": kind}, "body": body}
        self.comments.append(made)
        return made


@contextmanager
def github_server() -> Iterator[GitHub]:
    server = GitHub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: GitHub

    def do_GET(self) -> None:
        token, place = self._token(), urlsplit(self.path)
        if place.path == "/user":
            if token == "of-ana":
                self._answer(200, {"login": "ana"})
            else:  # an app's token is not a user's
                self._answer(403, {"message": "Resource not accessible by integration"})
        elif place.path == "/repos/ana/shop/issues/7/comments":
            asked = {name: int(values[0]) for name, values in parse_qs(place.query).items()}
            start = (asked["page"] - 1) * asked["per_page"]
            self._answer(200, self.server.comments[start : start + asked["per_page"]])
        else:
            self._answer(404, {"message": "Not Found"})

    def do_POST(self) -> None:
        token = self._token()
        if self.path != "/repos/ana/shop/issues/7/comments":
            self._answer(404, {"message": "Not Found"})
        elif token == "read-only":
            self._answer(403, {"message": "Resource not accessible by integration"})
        else:
            self._answer(201, self.server.add(TOKENS[token], self._body()))

    def do_PATCH(self) -> None:
        token = self._token()
        number = int(self.path.removeprefix("/repos/ana/shop/issues/comments/"))
        comment = self.server.comments[number - 1]
        if token == "read-only":
            self._answer(403, {"message": "Resource not accessible by integration"})
        else:  # GitHub lets whoever may write edit the comments of others
            comment["body"] = self._body()
            self._answer(200, comment)

    def _token(self) -> str:
        self.server.requests.append(f"{self.command} {self.path}")
        return self.headers["Authorization"].removeprefix("Bearer ")

    def _body(self) -> str:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body: str = document["body"]
        assert len(body) <= 65_536
        return body

    def _answer(self, code: int, document: object) -> None:
        data = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
