"""A small OpenAI-compatible HTTP server. Each test decides what it answers to chats and completions."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from remora.models.client.server_probe import PROBE_TOOL

Handler = BaseHTTPRequestHandler
Chat = Callable[[Handler, dict[str, Any], int], None]
"""Answers a chat request. It gets the handler, the request and its number, counted from 1."""


class Server:
    """A running server."""

    tools = True
    schemas = False

    def __init__(self, address: str, model: str, context: int | None = None) -> None:
        self.address = address
        self.models = [model]
        self.context = context
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []


def send_json(
    handler: Handler, body: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole response."""
    raw = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw)


def answer(*calls: tuple[str, Any], text: str | None = None, model: str = "m") -> dict[str, Any]:
    """Return the body of a response with a text, and with calls of tools by name and arguments."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call-{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": args if isinstance(args, str) else json.dumps(args),
                },
            }
            for number, (name, args) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"object": "chat.completion", "model": model, "choices": [choice]}


def tokens_of(*parts: Any) -> int:
    """Return how many tokens values have as JSON, at four bytes a token."""
    return sum(len(json.dumps(part)) for part in parts) // 4


@contextmanager
def openai_server(
    chat: Chat, *, model: str = "m", complete: Chat | None = None, context: int | None = None
) -> Iterator[Server]:
    """Serve at a free port of this machine. `complete` answers requests for plain completions."""
    http = _Quiet(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server = Server(f"http://127.0.0.1:{http.server_port}/v1", model, context)
    http.RequestHandlerClass = _handler(server, chat, complete)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: some tests end connections."""


def _answer_chat(server: Server, handler: Handler, request: dict[str, Any], chat: Chat) -> None:
    if f'"{PROBE_TOOL.name}"' not in json.dumps(request):
        server.requests.append(request)
        chat(handler, request, len(server.requests))
        return
    tests_tools = "tools" in request
    if not (server.tools if tests_tools else server.schemas):
        send_json(handler, {"error": {"message": "not supported"}}, 400)
    elif tests_tools:
        send_json(handler, answer((PROBE_TOOL.name, {})))
    else:
        send_json(handler, answer(text='{"tool":"'))


def _handler(server: Server, chat: Chat, complete: Chat | None) -> type[Handler]:
    class Requests(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.keys.append(self.headers["Authorization"])
            if self.path == "/v1/models":
                size = {"max_model_len": server.context} if server.context else {}
                listed = [{"id": name, "object": "model", **size} for name in server.models]
                send_json(self, {"object": "list", "data": listed})
            else:
                send_json(self, {}, 404)

        def do_POST(self) -> None:
            server.keys.append(self.headers["Authorization"])
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/v1/chat/completions":
                _answer_chat(server, self, request, chat)
            elif self.path == "/v1/completions" and complete is not None:
                server.requests.append(request)
                complete(self, request, len(server.requests))
            elif self.path == "/tokenize" and server.context:
                send_json(self, {"count": tokens_of(request)})
            else:
                send_json(self, {}, 404)

        def log_message(self, *_args: Any) -> None:
            pass

    return Requests
