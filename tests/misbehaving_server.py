"""Faults of a model server, each of which answers chat requests in its own wrong way."""

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.openai_server import Chat, Handler, answer, send_json

_OPEN = re.compile(r'^- (\w+)\((?:(\w+)="([^"]+)")?[^)]*\)', re.MULTILINE)
_PROSE = "Certainly! This method adds an item."
_WRITTEN = {
    "write_docstring": ("summary", "Keep what a visitor picked."),
    "annotate": ("signature", "(self, item: str, count: int = 1) -> None"),
}


class Wanted(NamedTuple):
    """A call that a request suggests: its tool, the known argument and the one to write."""

    tool: str
    known: Mapping[str, str]
    name: str
    text: str

    @property
    def args(self) -> dict[str, Any]:
        return {**self.known, self.name: self.text}


def wanted(request: Mapping[str, Any]) -> Wanted:
    """Return the first call that is suggested and that needs a text, or else a submission."""
    for tool, known, value in _OPEN.findall(str(request["messages"][-1]["content"])):
        if tool in _WRITTEN:
            return Wanted(tool, {known: value} if known else {}, *_WRITTEN[tool])
    return Wanted("submit_result", {}, "summary", "Done")


def good(handler: Handler, request: dict[str, Any], _number: int) -> None:
    """Make the call that is suggested."""
    send_json(handler, good_answer(request))


def good_answer(request: Mapping[str, Any], model: str = "m") -> dict[str, Any]:
    call = wanted(request)
    return answer((call.tool, call.args), model=model)


def _sends(body: Callable[[Wanted], Any]) -> Chat:
    """Answer with a body that is made from the call that is suggested."""

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        send_json(handler, body(wanted(request)))

    return chat


def _half(call: Wanted) -> str:
    """Return the arguments of a call up to the one to write."""
    return json.dumps({**call.known, call.name: ""}).removesuffix('": ""}')


def _status(status: int, message: str, **headers: str) -> Chat:
    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        send_json(handler, {"error": {"message": message}}, status, headers)

    return chat


def _slow(handler: Handler, request: dict[str, Any], number: int) -> None:
    time.sleep(1.5)
    good(handler, request, number)


def _stops_in_the_middle(handler: Handler, request: dict[str, Any], _number: int) -> None:
    raw = json.dumps(good_answer(request)).encode()
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
        send_json(handler, answer(text=_PROSE))
    else:
        _reset(handler, request, number)


def _replaced(handler: Handler, request: dict[str, Any], number: int) -> None:
    again = good_answer(request, model="other")
    send_json(handler, answer(text=_PROSE) if number == 1 else again)


def _counts(tokens: Any) -> Chat:
    """Make the call that is suggested, and say that the request has so many tokens."""
    details = {"cached_tokens": 0}
    usage = {
        "prompt_tokens": tokens,
        "completion_tokens": tokens,
        "prompt_tokens_details": details,
    }

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        send_json(handler, {**good_answer(request), "usage": usage})

    return chat


FAULTS: Mapping[str, Chat] = {
    "slow": _slow,
    "stops in the middle": _stops_in_the_middle,
    "prose": _sends(lambda _call: answer(text=_PROSE)),
    "half a call": _sends(lambda call: answer((call.tool, _half(call)))),
    "two calls": _sends(lambda call: answer((call.tool, call.args), ("submit_result", {}))),
    "an unknown tool": _sends(lambda _call: answer(("delete_files", {"path": "."}))),
    "another tool's arguments": _sends(
        lambda call: answer((call.tool, {"summary": "Keep it", "renames": []}))
    ),
    "a number for a text": _sends(lambda call: answer((call.tool, {**call.args, call.name: 7}))),
    "1 MB": _sends(lambda call: answer((call.tool, {**call.args, call.name: "word " * 200_000}))),
    "1 MB of prose": _sends(lambda _call: answer(text="Certainly! " * 100_000)),
    "nothing": _empty_body,
    "busy once": _busy_once,
    "busy": _status(429, "too many requests"),
    "fails": _status(500, "out of memory"),
    "resets": _reset,
    "dies": _dies,
    "wrong key": _status(401, "invalid key"),
    "replaced": _replaced,
    "truncates": _counts(12),
    "counts too many tokens": _counts(10**9),
    "counts less than none": _counts(-5),
    "counts in words": _counts("many"),
}
