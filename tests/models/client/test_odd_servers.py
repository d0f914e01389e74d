"""Servers as public reports describe them: what they refuse, and in which form they answer."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remora.chat import ToolSchema
from remora.config.schema import ModelConfig
from remora.errors import ContextTooLarge, ModelError, UnparsedAnswer
from remora.models.client.openai_client import OpenAIClient, open_client
from remora.models.client.server_address import parse_address
from remora.models.client.sync_http import ServerConnection
from remora.models.client.wire_format import read_choice
from remora.models.protocol import Decoding, Request
from tests.models.client.test_openai_client import (
    CHAT,
    KEY,
    QUICK,
    REQUEST,
    ask,
    ask_often,
    failure,
    says,
    talk,
)

TOOL = ToolSchema(name="write", parameters={"type": "object", "properties": {}})
WHOLE = Request(
    messages=REQUEST.messages,
    decoding=Decoding(strategy="tool_call", tools=(TOOL,), max_tokens=10, seed=7, logprobs=5),
)


class TestKeys:
    @pytest.mark.parametrize(
        ("body", "changed"),
        [
            ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'", "max_tokens"),
            ("unknown field `temperature`, expected one of `model`, `max_tokens`", "temperature"),
            ({"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}, "seed"),
            ({"error": {"message": "unsupported_value", "param": "tool_choice"}}, "tool_choice"),
            ("logprobs is not allowed", "logprobs"),
        ],
    )
    def test_a_key_that_is_named_is_changed_and_that_is_remembered(
        self, misbehaving: Any, canned: Any, body: Any, changed: str
    ) -> None:
        body = {"error": {"message": body}} if isinstance(body, str) else body
        misbehaving.routes[CHAT] = [canned(status=400, body=body), canned(body=says("x"))]

        answers = ask_often(misbehaving.address, 2, WHOLE)
        new = "max_completion_tokens" if changed == "max_tokens" else ""
        assert [answer.changed_keys for answer in answers] == [{changed: new}] * 2
        first, *others = [request.body for request in misbehaving.seen]
        names = {key: new if key == changed else key for key in first}
        kept = {names[key]: value for key, value in first.items() if names[key]}
        assert others == [kept, kept]

    def test_a_new_name_that_is_refused_too_is_left_out(
        self, misbehaving: Any, canned: Any
    ) -> None:
        words = ("max_tokens: no", "max_completion_tokens: no", "seed: no")
        refusals = [canned(status=422, body={"error": each}) for each in words]
        misbehaving.routes[CHAT] = [*refusals, canned(body=says("x"))]
        answer = ask(misbehaving.address, request=WHOLE)
        assert answer.changed_keys == {"max_tokens": "", "seed": ""}

    def test_a_server_that_refuses_everything_has_the_first_word(
        self, misbehaving: Any, canned: Any
    ) -> None:
        misbehaving.routes[CHAT] = canned(status=400, body={"error": "seed and temperature: no"})
        assert "seed and temperature" in failure(misbehaving.address, request=WHOLE).message
        assert len(misbehaving.seen) < 8

    def test_a_probe_asks_without_it_too(self, misbehaving: Any, canned: Any) -> None:
        misbehaving.routes["/v1/models"] = canned(body={"data": [{"id": "m"}]})
        call = {"function": {"name": "zq", "arguments": "{}"}}
        found = {"choices": [{"message": {"tool_calls": [call]}}]}
        refused = canned(status=400, body={"error": "max_tokens is not supported"})
        misbehaving.routes[CHAT] = [refused, canned(body=found)]
        where = parse_address(misbehaving.address)
        client = open_client(where, ModelConfig(), None, name=None)
        asyncio.run(client.aclose())
        assert client.capabilities.tools
        assert client.connection.changed_keys == {"max_tokens": "max_completion_tokens"}


TOO_LARGE = """
the request exceeds the available context size, try increasing it
exceed_context_size_error
This model's maximum context length is 4096 tokens. However, you requested 5000 tokens
The decoder prompt (length 5000) is longer than the maximum model length of 4096.
the input length exceeds the context length
Trying to keep the first 5000 tokens when context the overflows.
Reached context length of 4096 tokens with this model
prompt is too long: 201000 tokens > 200000 maximum
input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000
The input token count (1050000) exceeds the maximum number of tokens allowed (1048576).
Please reduce the length of the messages or completion.
Prompt contains 40000 tokens, too large for model with 32768 maximum context length
Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000
too many tokens: total number of tokens in the prompt cannot exceed 4081
Input is too long for requested model.
Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000
"""
NOT_TOO_LARGE = """
max_tokens is too large: 5000. This model supports at most 4096 completion tokens
Invalid value for 'temperature': must be <= 2
number of requests exceeds the limit
messages: at least one message is required
Input should be greater than 0 (temperature)
'messages': maximum of one system message
"""


def test_a_context_that_is_too_large_is_known_by_what_servers_say(
    misbehaving: Any, canned: Any
) -> None:
    for error, is_too_large in (
        ({"type": "exceed_context_size_error", "message": "request (9 tokens) exceeds"}, True),
        ({"code": "context_length_exceeded", "message": "too long"}, True),
        *(({"message": words}, True) for words in TOO_LARGE.strip().split("\n")),
        *(({"message": words}, False) for words in NOT_TOO_LARGE.strip().split("\n")),
    ):
        misbehaving.routes[CHAT] = canned(status=400, body={"error": error})
        said = failure(misbehaving.address)
        assert isinstance(said, ContextTooLarge) is is_too_large, error


class TestForms:
    @pytest.mark.parametrize(
        ("error", "status", "requests"),
        [
            ({"message": "per day", "code": 429}, 429, 5),
            ({"message": "per day", "code": "503"}, 503, 5),
            ({"message": "per day", "code": 401}, 401, 1),
            ({"message": "per day", "code": "insufficient_quota"}, 429, 5),
            ({"message": "per day", "code": "invalid_api_key"}, 401, 1),
            ("per day", 500, 5),
        ],
    )
    @pytest.mark.parametrize(
        ("choices", "is_event"),
        [
            ({}, False),
            ({"choices": []}, True),
            pytest.param({"choices": None}, False, marks=pytest.mark.slow),
        ],
    )
    def test_an_error_of_status_200_is_the_error_that_it_names(  # noqa: PLR0913
        self,
        misbehaving: Any,
        canned: Any,
        error: Any,
        status: int,
        requests: int,
        choices: dict[str, Any],
        is_event: bool,
    ) -> None:
        whole = json.dumps({"error": error, **choices}).encode()
        body = b"data: " + whole + b"\n\n" if is_event else whole
        misbehaving.routes[CHAT] = canned(body=body)
        assert f"status {status}: per day" in failure(misbehaving.address).message
        assert len(misbehaving.seen) == requests

    @pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream"])
    @pytest.mark.parametrize("is_event", [False, True])
    def test_events_and_documents_are_known_by_their_bytes(
        self, misbehaving: Any, canned: Any, kind: str, is_event: bool
    ) -> None:
        whole = json.dumps({**says("whole"), "error": None}).encode()
        events = b": hi\r\n\r\ndata: " + whole.replace(b"message", b"delta") + b"\r\n\r\n"
        answer = canned(body=events if is_event else whole, headers={"Content-Type": kind})
        misbehaving.routes[CHAT] = answer
        assert ask(misbehaving.address).text == "whole"
        connection = ServerConnection(parse_address(misbehaving.address), key=KEY, limits=QUICK)
        found = connection.request_once("POST", f"{misbehaving.address}/chat/completions", {})
        connection.close()
        assert read_choice(found).text == "whole"

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_a_redirect_names_the_address_to_set(
        self, misbehaving: Any, canned: Any, status: int
    ) -> None:
        moved = {"Location": "https://me:secret@other/v1/chat/completions?key=secret"}
        misbehaving.routes[CHAT] = canned(status=status, headers=moved)
        error = failure(misbehaving.address)
        assert "redirects to https://other/v1" in error.message
        assert "secret" not in error.message
        assert "model.base_url" in error.hint


UNPARSED = {"code": 500, "message": "output that does not match the expected peg-native format"}
NO_GRAMMAR = {"code": 400, "message": "Failed to initialize samplers: failed to parse grammar"}
"""What llama.cpp sends for an answer that its parser does not match, and for a template whose calls
have no grammar."""
NATIVE = Request(messages=REQUEST.messages, decoding=Decoding(strategy="tool_call", tools=(TOOL,)))


@pytest.mark.parametrize("error", [UNPARSED, NO_GRAMMAR])
def test_an_answer_that_the_server_cannot_parse_is_asked_for_as_text(
    misbehaving: Any, canned: Any, error: dict[str, Any]
) -> None:
    refused = canned(status=error["code"], body={"error": error})
    misbehaving.routes[CHAT] = [refused, canned(body=says("<tool_call>"))]
    assert ask(misbehaving.address, request=NATIVE).text == "<tool_call>"
    assert [seen.body["tool_choice"] for seen in misbehaving.seen] == ["required", "none"]


def test_a_request_without_tools_is_not_repeated(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(status=500, body={"error": UNPARSED})
    error = failure(misbehaving.address)
    assert isinstance(error, UnparsedAnswer)
    assert "does not match the expected" in error.message
    assert len(misbehaving.seen) == 1


THINKS = "What would a maintainer write?"


class TestThinking:
    @pytest.mark.parametrize(
        "message",
        [
            {"content": "done", "reasoning_content": THINKS},  # llama.cpp, vLLM, DeepSeek
            {"content": "done", "reasoning": THINKS},  # Ollama, OpenRouter
            {"content": f"<think>{THINKS}</think>\n\ndone"},  # a server without a parser for it
            {"content": [{"type": "thinking", "thinking": THINKS}, {"text": "done"}]},  # Mistral
            {"content": f"<|channel|>analysis<|message|>{THINKS}<|end|>done"},
        ],
    )
    def test_it_is_kept_out_of_the_text_and_counted(self, message: dict[str, Any]) -> None:
        answer = read_choice({"choices": [{"message": message}]})
        assert answer.text == "done"
        assert len(THINKS) <= answer.thinking < 100

    def test_it_comes_in_parts_before_the_text(self, misbehaving: Any, canned: Any) -> None:
        parts: list[dict[str, Any]] = [
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Wh"}]},
            {"content": [{"type": "thinking", "thinking": "at?"}]},
            {"content": "do"},
            {"content": "ne"},
        ]
        deltas = [{"index": 0, "delta": part} for part in parts]
        deltas += [{"index": 0, "delta": {}, "finish_reason": "stop"}]
        events = [f"data: {json.dumps({'choices': [each]})}\n\n".encode() for each in deltas]
        misbehaving.routes[CHAT] = canned(parts=tuple(events))
        answer = ask(misbehaving.address)
        assert (answer.text, answer.thinking) == ("done", 5)

    def test_a_model_that_was_seen_to_think_is_known(self, misbehaving: Any, canned: Any) -> None:
        message = {"content": None, "reasoning": THINKS}
        misbehaving.routes[CHAT] = canned(body={"choices": [{"message": message}]})

        async def is_seen(client: OpenAIClient) -> bool:
            await client.ask(REQUEST)
            return client.capabilities.thinks

        assert talk(misbehaving.address, is_seen)


class TestSurroundings:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("ALL_PROXY", "socks5://127.0.0.1:9"),
            ("all_proxy", "socks4://127.0.0.1:9"),
            ("HTTPS_PROXY", "socks5h://127.0.0.1:9"),
            ("HTTP_PROXY", "gopher://127.0.0.1:9"),
            ("SSL_CERT_FILE", "/nowhere/certificates.pem"),
            ("HTTP_PROXY", "http://user:sec#ret@proxy:3128"),
        ],
    )
    def test_a_variable_that_cannot_be_used_is_named(
        self, monkeypatch: pytest.MonkeyPatch, name: str, value: str
    ) -> None:
        monkeypatch.setenv(name, value)
        with pytest.raises(ModelError) as caught:
            ServerConnection(parse_address("https://models.test/v1"), key=None, limits=QUICK)
        assert f"{name.upper()} " in caught.value.message
        assert "sec" not in caught.value.message
        ServerConnection(parse_address("http://127.0.0.1:1/v1"), key=None, limits=QUICK).close()

    def test_a_proxy_that_is_not_there_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        assert "HTTP_PROXY" in failure("http://models.test/v1").hint


def test_a_limit_of_hours_stops_all_questions_of_a_run(misbehaving: Any, canned: Any) -> None:
    body = {"error": {"message": "50 requests per day"}}
    misbehaving.routes[CHAT] = canned(status=429, body=body, headers={"Retry-After": "39600"})
    errors = list[ModelError]()

    async def ask_thrice(client: OpenAIClient) -> None:
        for _ in range(3):
            with pytest.raises(ModelError) as caught:
                await client.ask(REQUEST)
            errors.append(caught.value)

    talk(misbehaving.address, ask_thrice)
    assert len(misbehaving.seen) == 1
    assert {"50 requests per day" in error.message for error in errors} == {True}
    then = datetime.now(UTC) + timedelta(seconds=39600)
    assert f"takes requests again from {then:%Y-%m-%d %H}:" in errors[2].hint
