"""An OpenAI-compatible server that answers with what people wrote.

It shows how much of what people wrote the rest of Remora can carry into the files, so every miss is
a fault of the harness, and not of a model.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from remora.ids import escape_path, node_key
from remora.operations.restorer import Slot

NAME = "oracle"
_TARGET = re.compile(r"^Target: docstring \w+ (\S+)$", re.MULTILINE)
_ACTION = re.compile(r'^- describe\(part="([^"]+)"\)', re.MULTILINE)
_PART_OF = {"outcome": "returns"}


class Question(NamedTuple):
    """The function and the part of its docstring that a request asks for."""

    node: str
    part: str


class Oracle:
    """Knows the texts of all parts, and what it was asked."""

    def __init__(self, address: str, slots: Sequence[Slot]) -> None:
        self.address = address
        self.asked: list[Question] = []
        self._texts = {
            (node_key(escape_path(slot.path), slot.qualname), slot.part): slot.text
            for slot in slots
        }

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the call that answers a request. Where people wrote nothing, its text is empty."""
        question = asked_for(str(request["messages"][-1]["content"]))
        self.asked.append(question)
        part = _PART_OF.get(question.part, question.part)
        text = self._texts.get((question.node, part), "")
        return {"part": question.part, "text": text}


def asked_for(prompt: str) -> Question:
    """Read the target and the open action from a prompt, which shows the packet as lines or JSON."""
    if prompt.startswith("{"):
        packet = json.loads(prompt)
        (action,) = packet["candidate_actions"]
        return Question(packet["node_id"], action["args"]["part"])
    (node,), (part,) = _TARGET.findall(prompt), _ACTION.findall(prompt)
    return Question(node, part)


def completion(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a response that calls `describe`."""
    function = {"name": "describe", "arguments": json.dumps(args)}
    call = {"id": "call-1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "object": "chat.completion",
        "model": NAME,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }


@contextmanager
def oracle_server(slots: Sequence[Slot]) -> Iterator[Oracle]:
    """Serve the oracle at a free port of this machine."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    oracle = Oracle(f"http://127.0.0.1:{http.server_port}/v1", slots)
    http.RequestHandlerClass = _handler(oracle)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield oracle
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def _handler(oracle: Oracle) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            models = {"object": "list", "data": [{"id": NAME, "object": "model"}]}
            self._send(200, models) if self.path == "/v1/models" else self._send(404, {})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/v1/chat/completions":
                self._send(200, completion(oracle.answer(request)))
            else:
                self._send(404, {})

        def _send(self, status: int, body: Mapping[str, Any]) -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_args: Any) -> None:
            pass

    return Handler
