"""A call that a server leaves in the text is made, and recorded with the server's version."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from remora.agents.decision.strategies import STRATEGIES
from remora.chat import Message, ParserMiss, ToolSchema
from remora.errors import UnparsedAnswer
from remora.memory.events import ModelResponse
from remora.models.client.openai_client import OpenAIClient
from remora.models.client.retry_policy import RequestLimits
from remora.models.client.server_address import parse_address
from remora.models.client.server_probe import ServerFacts
from remora.models.client.sync_http import ServerConnection
from remora.models.decoding.call_validation import BadCall
from remora.models.protocol import Answer, Capabilities, Decoding, Request, Strategy
from remora.models.token_counters import UsageCounter
from remora.trace.read.transcript import _response
from tests.openai_server import answer, send_json

TOOLS = (ToolSchema(name="put", parameters={"properties": {"line": {"type": "integer"}}}),)
UNPARSED = {
    "error": {
        "code": 500,
        "message": "The model produced output that does not match the expected peg-native format",
        "type": "server_error",
    }
}
NO_GRAMMAR = {
    "error": {
        "code": 400,
        "message": "Failed to initialize samplers: failed to parse grammar",
        "type": "invalid_request_error",
    }
}
"""What llama.cpp sends for an answer that its parser does not match, and for a template whose calls
have no grammar."""
HERMES = '<tool_call>{"name": "put", "arguments": {"line": 3}}</tool_call>'


@contextmanager
def serving(
    endpoints: dict[str, Any], body: Any, parsed: Any = None, status: int = 500
) -> Iterator[tuple[str, list[str]]]:
    """Serve `endpoints`, and `body` for each chat. Yield the address and the paths that were asked."""
    asked: list[str] = []

    class Requests(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            send_json(self, endpoints.get(self.path, {}), 200 if self.path in endpoints else 404)

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            choice = request.get("tool_choice", "")
            if parsed is not None:
                asked.append(f"tool_choice {choice}")
            fails = parsed is not None and choice != "none"
            send_json(self, parsed if fails else body, status if fails else 200)

        def log_message(self, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    thread = Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1", asked
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def ask(address: str, strategy: Strategy = "tool_call", times: int = 1) -> Sequence[Answer]:
    limits = RequestLimits(timeout_s=5)
    request = Request(
        messages=(Message(role="user", content="go"),),
        decoding=Decoding(strategy=strategy, tools=TOOLS),
    )

    async def all_answers() -> list[Answer]:
        connection = ServerConnection(parse_address(address), key=None, limits=limits)
        facts = ServerFacts(name="m", capabilities=Capabilities(), context=None, llama=False)
        client = OpenAIClient(connection, facts, UsageCounter(None), limits=limits, exact=False)
        try:
            return [await client.ask(request) for _ in range(times)]
        finally:
            await client.aclose()

    return asyncio.run(all_answers())


@pytest.mark.parametrize(
    ("endpoints", "server", "version"),
    [
        ({"/props": {"build_info": "b6400-1234"}}, "llama.cpp", "b6400-1234"),
        ({"/version": {"version": "0.11.0"}}, "vLLM", "0.11.0"),
        ({"/api/version": {"version": "0.12.3"}}, "Ollama", "0.12.3"),
        ({"/version": {"version": 3}}, "unknown", "unknown"),
        ({"/version": {"version": "a\nb"}}, "unknown", "unknown"),
        ({}, "unknown", "unknown"),
    ],
)
def test_the_server_is_named_with_its_version(
    endpoints: dict[str, Any], server: str, version: str
) -> None:
    with serving(endpoints, answer(text=HERMES)) as (address, _):
        (given,) = ask(address)
    assert given.parser_miss == ParserMiss(family="hermes", server=server, version=version)


def test_the_version_is_asked_for_once() -> None:
    with serving({"/version": {"version": "1"}}, answer(text=HERMES)) as (address, asked):
        ask(address, times=3)
    assert asked.count("/version") == 1


@pytest.mark.parametrize(
    ("body", "strategy"),
    [
        (answer(("put", {"line": 3}), text=HERMES), "tool_call"),
        (answer(("put", "unreadable"), text=HERMES), "tool_call"),
        (answer(text="I would put it there."), "tool_call"),
        (answer(text=HERMES), "grammar"),
    ],
)
def test_nothing_is_missed(body: Any, strategy: Strategy) -> None:
    with serving({}, body) as (address, asked):
        (given,) = ask(address, strategy)
    assert given.parser_miss is None
    assert asked == []


@pytest.mark.parametrize(("text", "family"), [(HERMES, "hermes"), ("I would.", "unknown")])
@pytest.mark.parametrize("body", [UNPARSED, NO_GRAMMAR])
def test_an_answer_that_the_server_cannot_parse_is_asked_for_as_text(
    body: Any, text: str, family: str
) -> None:
    status = body["error"]["code"]
    with serving({}, answer(text=text), body, status) as (address, asked):
        (given,) = ask(address)
    assert asked[:2] == ["tool_choice required", "tool_choice none"]
    assert given.text == text
    miss = given.parser_miss
    assert miss is not None
    assert miss.family == family
    assert miss.reason.endswith(f"status {status}: {body['error']['message']}")


def test_a_request_without_tools_is_not_repeated() -> None:
    matching = pytest.raises(UnparsedAnswer, match="does not match the expected")
    with serving({}, answer(text=HERMES), UNPARSED) as (address, asked), matching:
        ask(address, "grammar")
    assert asked == ["tool_choice "]


@pytest.mark.parametrize("strategy", ["tool_call", "string_tool_call"])
@pytest.mark.parametrize(
    "text",
    [
        HERMES,
        "<|tool_call>call:put{line:3}<tool_call|>",
        '```json\n{"tool":"put","args":{"line":3}}\n```',
    ],
)
def test_a_call_in_the_text_is_made(strategy: Strategy, text: str) -> None:
    response = ModelResponse(text=text, raw=answer(text=text))
    found = STRATEGIES[strategy].read(response, (), TOOLS)
    assert (found.tool, found.args) == ("put", {"line": 3})


def test_the_reason_says_the_form() -> None:
    text = '```json\n{"put": 3}\n```'
    with pytest.raises(BadCall, match=r'no tool call: .*; write \{"tool": NAME, "args": \{…\}\}'):
        STRATEGIES["tool_call"].read(ModelResponse(text=text, raw=answer(text=text)), (), TOOLS)


def test_an_unreadable_native_call_is_not_replaced_by_the_text() -> None:
    response = ModelResponse(text=HERMES, raw=answer(("put", "unreadable"), text=HERMES))
    with pytest.raises(BadCall, match="the arguments of put are not a JSON object"):
        STRATEGIES["tool_call"].read(response, (), TOOLS)


def test_a_transcript_names_the_server() -> None:
    miss = {"family": "gemma", "server": "vLLM", "version": "0.11.0"}
    lines = list(_response({"text": "x", "parser_miss": miss}))
    said = "parser_miss: vLLM 0.11.0 left a call of the family gemma in the text"
    assert lines[-1].endswith(said)
    lines = list(_response({"text": "x", "parser_miss": {**miss, "reason": "status 500"}}))
    assert lines[-1].endswith(f"{said} (status 500)")
