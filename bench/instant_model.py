"""OpenAI-compatible server process that answers every request at once with a valid call."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "instant"
_CALL = re.compile(r"- (\w+)\((.*)")
_SUGGESTED = re.compile(r"such as: (.*)")
_JSON = json.JSONDecoder()


@contextmanager
def instant_model() -> Iterator[str]:
    """Run the server during the block and yield its address."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.stdin.close()  # the server ends with it


def called(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the first offered action that can be completed, else a submission."""
    given = [tool["function"] for tool in body.get("tools", ())]
    tools = {tool["name"]: tool["parameters"] for tool in given}
    text = body["messages"][-1]["content"]
    _, _, offered = text.rpartition("\nSuggestions:\n")
    for line in offered.splitlines():
        found = _CALL.match(line)
        if found and found[1] in tools:
            args = _completed(_args(found[2]), tools[found[1]], line)
            if args is not None:
                return found[1], args
    return "submit_result", {"summary": "nothing is left"}


def _args(text: str) -> dict[str, Any]:
    """Parse `name=JSON, name=JSON) - reason` to a dict."""
    args: dict[str, Any] = {}
    at = 0
    while found := re.compile(r"(?:, )?(\w+)=").match(text, at):
        args[found[1]], at = _JSON.raw_decode(text, found.end())
    return args


def _completed(
    args: dict[str, Any], parameters: dict[str, Any], line: str
) -> dict[str, Any] | None:
    """Complete a call with the sentence that the action suggests for a docstring; code is not invented."""
    missing = [name for name in parameters.get("required", []) if name not in args]
    suggested = _SUGGESTED.search(line)
    for name in missing:
        if name == "summary" and suggested:
            args[name] = suggested[1]
        elif name == "text":
            args[name] = ""
        else:
            return None
    return args


class Handler(BaseHTTPRequestHandler):
    """Answers by `choose`, which returns the tool and the arguments for a request."""

    choose = staticmethod(called)
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        listed = {"data": [{"id": NAME}]} if self.path == "/v1/models" else None
        self._send(listed)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        known = self.path == "/v1/chat/completions"
        body = json.loads(raw)
        self._send(_answer(*self.choose(body), body) if known else None)

    def _send(self, body: dict[str, Any] | None) -> None:
        text = json.dumps(body or {"error": {"message": "no"}}).encode()
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing on stderr."""


def _answer(tool: str, args: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    call = {"name": tool, "arguments": json.dumps(args)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_0", "type": "function", "function": call}],
    }
    return {
        "model": NAME,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        # as many as any tokenizer makes: fewer would tell of a context that is too small
        "usage": {"prompt_tokens": len(json.dumps(body)), "completion_tokens": 20},
    }


def _serve() -> None:
    import threading

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        print(http.server_port, flush=True)
        sys.stdin.buffer.read()
        os._exit(0)


if __name__ == "__main__":
    _serve()
