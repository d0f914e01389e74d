"""Faults of a model server, each of which answers chat requests in its own wrong way."""

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.openai_server import Chat, Handler, answer, send_json

_PART = re.compile(r'describe\(part="([^"]+)"\)')


def good(handler: Handler, request: dict[str, Any], _number: int) -> None:
    """Describe the part that is asked for."""
    send_json(handler, described(request))


def described(request: dict[str, Any], model: str = "m") -> dict[str, Any]:
    args = {"part": part_of(request), "text": "Keep what a visitor picked"}
    return answer(("describe", args), model=model)


def part_of(request: dict[str, Any]) -> str:
    """Return the part of the docstring that a request asks for."""
    found = _PART.search(str(request["messages"][-1]["content"]))
    return found[1] if found else ""


def _sends(body: Callable[[str], Any]) -> Chat:
    """Answer with a body that is made from the part that is asked for."""

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        send_json(handler, body(part_of(request)))

    return chat


def _status(status: int, message: str, **headers: str) -> Chat:
    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        send_json(handler, {"error": {"message": message}}, status, headers)

    return chat


def _slow(handler: Handler, request: dict[str, Any], number: int) -> None:
    time.sleep(1.5)
    good(handler, request, number)


def _stops_in_the_middle(handler: Handler, request: dict[str, Any], _number: int) -> None:
    raw = json.dumps(described(request)).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw[: len(raw) // 2])
    handler.close_connection = True


def _empty_body(handler: Handler, _request: dict[str, Any], _number: int) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def _reset(handler: Handler, _request: dict[str, Any], _number: int) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def _busy_once(handler: Handler, request: dict[str, Any], number: int) -> None:
    if number == 1:
        send_json(handler, {"error": "busy"}, 429, {"Retry-After": "0"})
    else:
        good(handler, request, number)


def _dies(handler: Handler, request: dict[str, Any], number: int) -> None:
    if number == 1:
        good(handler, request, number)
    else:
        _reset(handler, request, number)


def _replaced(handler: Handler, request: dict[str, Any], number: int) -> None:
    send_json(handler, described(request, model="m" if number == 1 else "other"))


def _truncates(handler: Handler, request: dict[str, Any], _number: int) -> None:
    send_json(handler, {**described(request), "usage": {"prompt_tokens": 12}})


FAULTS: Mapping[str, Chat] = {
    "slow": _slow,
    "stops in the middle": _stops_in_the_middle,
    "prose": _sends(lambda _part: answer(text="Certainly! This method adds an item.")),
    "half a call": _sends(lambda part: answer(("describe", f'{{"part": "{part}", "te'))),
    "two calls": _sends(
        lambda part: answer(
            ("describe", {"part": part, "text": "Keep what a visitor picked"}),
            ("submit_result", {}),
        )
    ),
    "an unknown tool": _sends(lambda _part: answer(("delete_files", {"path": "."}))),
    "another tool's arguments": _sends(
        lambda _part: answer(("describe", {"summary": "Keep it", "renames": []}))
    ),
    "wrong types": _sends(lambda part: answer(("describe", {"part": part, "text": 7}))),
    "1 MB": _sends(lambda part: answer(("describe", {"part": part, "text": "word " * 200_000}))),
    "nothing": _empty_body,
    "busy once": _busy_once,
    "busy": _status(429, "too many requests"),
    "fails": _status(500, "out of memory"),
    "resets": _reset,
    "dies": _dies,
    "wrong key": _status(401, "invalid key"),
    "replaced": _replaced,
    "truncates": _truncates,
}
