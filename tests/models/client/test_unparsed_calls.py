"""A call that a server leaves in the text, or cannot parse, is made."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from remora.agents.decision.strategies import STRATEGIES
from remora.chat import Message, ToolSchema
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
def serving(body: Any, parsed: Any, status: int = 500) -> Iterator[tuple[str, list[str]]]:
    """Serve `body` without a choice of tools, else `parsed`. Yield the address, and what is chosen."""
    asked: list[str] = []

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(request.get("tool_choice", ""))
            fails = asked[-1] != "none"
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


def ask(address: str, strategy: Strategy = "tool_call") -> Answer:
    limits = RequestLimits(timeout_s=5)
    request = Request(
        messages=(Message(role="user", content="go"),),
        decoding=Decoding(strategy=strategy, tools=TOOLS),
    )

    async def once() -> Answer:
        connection = ServerConnection(parse_address(address), key=None, limits=limits)
        facts = ServerFacts(name="m", capabilities=Capabilities(), context=None, llama=False)
        client = OpenAIClient(connection, facts, UsageCounter(None), limits=limits, exact=False)
        try:
            return await client.ask(request)
        finally:
            await client.aclose()

    return asyncio.run(once())


@pytest.mark.parametrize("body", [UNPARSED, NO_GRAMMAR])
def test_an_answer_that_the_server_cannot_parse_is_asked_for_as_text(body: Any) -> None:
    with serving(answer(text=HERMES), body, body["error"]["code"]) as (address, asked):
        given = ask(address)
    assert asked == ["required", "none"]
    assert given.text == HERMES


def test_a_request_without_tools_is_not_repeated() -> None:
    matching = pytest.raises(UnparsedAnswer, match="does not match the expected")
    with serving(answer(text=HERMES), UNPARSED) as (address, asked), matching:
        ask(address, "grammar")
    assert asked == [""]


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
