"""A server on loopback with the part of GitHub's REST API that concerns comments and reviews."""

import json
import re
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
        self.files: list[dict[str, Any]] = []
        self.head = ""
        self.reviews: list[dict[str, Any]] = []
        self.review_comments: list[dict[str, Any]] = []
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

    def review(self, login: str, document: dict[str, Any]) -> list[str]:
        """Add a review and its comments, or return the errors for which GitHub refuses all of it."""
        errors = [] if document["commit_id"] == self.head else ["Commit is not part of the diff"]
        errors += [] if document["event"] == "COMMENT" and document["body"] else ["Body is missing"]
        errors += [text for comment in document["comments"] for text in self._errors(comment)]
        if not errors:
            self.reviews.append(document)
            user = {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"}
            self.review_comments += [{**c, "user": user} for c in document["comments"]]
        return errors

    def _errors(self, comment: dict[str, Any]) -> Iterator[str]:
        assert comment["side"] == comment.get("start_side", "RIGHT") == "RIGHT"
        assert len(comment["body"]) <= 65_536
        patches = [f["patch"] for f in self.files if f["filename"] == comment["path"]]
        hunks = [lines for patch in patches for lines in _right_lines(patch)]
        start, line = comment.get("start_line"), comment["line"]
        if not any(line in hunk for hunk in hunks):
            yield "Pull request review thread line must be part of the diff"
        if start is not None and start >= line:
            yield "Pull request review thread start line must precede the end line."
        if start is not None and not any(start in hunk and line in hunk for hunk in hunks):
            yield "Pull request review thread start line must be part of the same hunk as the line."


def _right_lines(patch: str) -> Iterator[list[int]]:
    """Yield the numbers of the lines that each hunk of a patch shows of the new version."""
    for hunk in re.split(r"^@@ ", patch, flags=re.MULTILINE)[1:]:
        header, *lines = hunk.removesuffix("\n").split("\n")
        match = re.search(r"\+(\d+)", header)
        assert match, header
        number = sum(line[:1] in {" ", "+"} for line in lines)
        yield [int(match[1]) + at for at in range(number)]


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
        elif place.path in self._lists():
            entries = self._lists()[place.path]
            asked = {name: int(values[0]) for name, values in parse_qs(place.query).items()}
            start = (asked["page"] - 1) * asked["per_page"]
            self._answer(200, entries[start : start + asked["per_page"]])
        else:
            self._answer(404, {"message": "Not Found"})

    def do_POST(self) -> None:
        token, name = self._token(), self.path.removeprefix("/repos/ana/shop/")
        if name not in {"issues/7/comments", "pulls/7/reviews"}:
            self._answer(404, {"message": "Not Found"})
        elif token == "read-only":
            self._answer(403, {"message": "Resource not accessible by integration"})
        elif name == "issues/7/comments":
            self._answer(201, self.server.add(TOKENS[token], self._body()))
        elif errors := self.server.review(TOKENS[token], self._document()):
            self._answer(422, {"message": "Unprocessable Entity", "errors": errors})
        else:
            self._answer(200, {"id": len(self.server.reviews)})

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

    def _lists(self) -> dict[str, list[dict[str, Any]]]:
        lists = {
            "issues/7/comments": self.server.comments,
            "pulls/7/files": self.server.files,
            "pulls/7/comments": self.server.review_comments,
        }
        return {f"/repos/ana/shop/{name}": entries for name, entries in lists.items()}

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return document

    def _body(self) -> str:
        body: str = self._document()["body"]
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
