"""Retries, addresses and forms of requests to servers."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import Message, ToolCall, ToolSchema, Usage
from remora.errors import ConfigError
from remora.models.client.retry_policy import (
    LONGEST_PAUSE_S,
    Failure,
    Reply,
    RequestLimits,
    next_pause,
    retry_after_s,
)
from remora.models.client.server_address import parse_address
from remora.models.client.wire_format import chat_body, completion_body, read_choice, read_usage
from remora.models.protocol import Decoding, Request

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = RequestLimits(retries=4, backoff_s=0.5)


def busy(retry_after: str | None = None, status: int = 503) -> Reply:
    return Reply(status, retry_after, b"")


def pause_of(failure: Failure, attempt: int, jitter: float) -> float | None:
    return next_pause(failure, attempt, LIMITS, NOW, random=lambda: jitter)


def test_the_pause_doubles_with_each_attempt_until_they_are_spent() -> None:
    assert [pause_of(busy(), n, 1.0) for n in range(6)] == [0.5, 1.0, 2.0, 4.0, None, None]


def test_half_of_the_pause_is_random() -> None:
    assert [pause_of(busy(), 1, jitter) for jitter in (0.0, 0.5, 1.0)] == [0.5, 0.75, 1.0]


def test_an_answer_that_the_server_cannot_parse_is_not_its_failure() -> None:
    body = b'{"error":{"message":"... output that does not match the expected peg-gemma4 format"}}'
    unparsed = Reply(500, None, body)
    assert unparsed.is_unparsed
    assert pause_of(unparsed, 0, 1.0) is None


def test_two_clients_do_not_retry_in_step() -> None:
    assert next_pause(busy(), 0, LIMITS, NOW) != next_pause(busy(), 0, LIMITS, NOW)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("100", LONGEST_PAUSE_S),
        (format_datetime(NOW + timedelta(seconds=9), usegmt=True), 9.0),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0),
        ("soon", 0.25),
        ("-3", 0.25),
        ("²", 0.25),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0.25),
    ],
)
def test_retry_after_is_a_lower_bound_up_to_thirty_seconds(header: str, expected: float) -> None:
    assert pause_of(busy(header), 0, 0.0) == expected
    assert pause_of(busy(header), 0, 1.0) == min(expected + 0.25, LONGEST_PAUSE_S)


@given(st.integers(0, 50), st.none() | st.text(max_size=40), st.floats(0, 1))
def test_no_header_makes_a_turn_wait_longer(
    attempt: int, header: str | None, jitter: float
) -> None:
    limits = RequestLimits(retries=100)
    pause = next_pause(busy(header), attempt, limits, NOW, random=lambda: jitter)
    asked = retry_after_s(busy(header), NOW) or 0
    assert (pause is None) is (asked > 100 * LONGEST_PAUSE_S)
    assert 0 <= (pause or 0) <= LONGEST_PAUSE_S


@pytest.mark.parametrize("header", ["121", "39600", "39600.5", format_datetime(NOW + timedelta(1))])
def test_a_server_that_asks_for_more_than_all_retries_is_given_up(header: str) -> None:
    assert pause_of(busy(header, 429), 0, 1.0) is None


@pytest.mark.parametrize(
    ("failure", "again"),
    [
        *((busy(status=status), True) for status in (429, 500, 502, 503, 504)),
        *((busy(status=status), False) for status in (301, 400, 401, 403, 404, 422, 501)),
        (httpx2.ConnectError("refused"), True),
        (httpx2.ReadError("reset"), True),
        (httpx2.RemoteProtocolError("closed"), True),
        (httpx2.ConnectTimeout("no answer"), True),
        (httpx2.ReadTimeout("slow"), False),
        (httpx2.UnsupportedProtocol("gopher"), False),
    ],
)
def test_only_what_may_pass_is_tried_again(failure: Failure, again: bool) -> None:
    assert (next_pause(failure, 0, LIMITS, NOW) is not None) is again


@pytest.mark.parametrize(
    ("given", "api", "root"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("https://host/llm/v1", "https://host/llm/v1", "https://host/llm"),
        ("https://host/v1beta/openai", "https://host/v1beta/openai", None),
        ("https://host/v1beta/openai/chat/completions", "https://host/v1beta/openai", None),
        ("http://host/v1/completions/", "http://host/v1", "http://host"),
        ("http://host/v1//chat/completions?a=b", "http://host/v1", "http://host"),
        ("https://host/models", "https://host/models", None),
        ("http://host:11434/api/chat", "http://host:11434/v1", "http://host:11434"),
    ],
)
def test_endpoints_follow_from_the_configured_address(
    given: str, api: str, root: str | None
) -> None:
    address = parse_address(given)
    assert (address.api, address.root) == (api, root)


@pytest.mark.parametrize(
    ("section", "set_by", "setting"),
    [
        ("model", "flag", "the address on the command line"),
        ("model", "environment", "REMORA_MODEL or REMORA_MODEL__BASE_URL"),
        ("model", "user", "model.base_url in your own configuration"),
        ("model", "project", "model.base_url in the project's configuration"),
        ("escalation", "environment", "REMORA_ESCALATION__BASE_URL"),
        ("escalation", None, "escalation.base_url"),
    ],
)
def test_hints_name_the_place_of_the_address(
    section: str, set_by: str | None, setting: str
) -> None:
    assert parse_address("http://host", section, set_by).setting == setting


def test_credentials_and_query_are_never_shown() -> None:
    address = parse_address("https://me:secret@host/v1?token=abc")
    assert address.shown == "https://host/v1"


@pytest.mark.parametrize(
    ("given", "loopback"),
    [
        ("http://127.0.0.1", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost:1/v1", True),
        ("http://localhost.example.com/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
def test_only_this_machine_is_loopback(given: str, loopback: bool) -> None:
    assert parse_address(given).loopback is loopback


@pytest.mark.parametrize(
    "given", ["", "localhost:8080", "ftp://me:secret@host", "http://", "http://host:port/v1"]
)
def test_what_is_not_an_address_is_a_configuration_error_without_a_password(given: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(given)
    assert "http://HOST:PORT/v1" in caught.value.hint
    assert "secret" not in caught.value.message


def test_each_strategy_asks_in_its_own_way() -> None:
    messages = (Message(role="user", content="go"),)
    tool = ToolSchema(name="run", description="d", parameters={"type": "object"})
    grammar = Request(messages=messages, decoding=Decoding(strategy="grammar", grammar="root"))
    native = Request(messages=messages, decoding=Decoding(strategy="tool_call", tools=(tool,)))
    plain = Request(prompt="p", decoding=Decoding(strategy="completion", stop=("x",), seed=3))
    assert chat_body(grammar, model="m", llama=True) == {
        "model": "m",
        "messages": [{"role": "user", "content": "go"}],
        "max_tokens": 256,
        "temperature": 0.0,
        "cache_prompt": True,
        "grammar": "root",
    }
    assert chat_body(native, model="m", llama=False) == {
        "model": "m",
        "messages": [{"role": "user", "content": "go"}],
        "max_tokens": 256,
        "temperature": 0.0,
        "tool_choice": "required",
        "tools": [
            {
                "type": "function",
                "function": {"name": "run", "description": "d", "parameters": {"type": "object"}},
            }
        ],
    }
    form = Request(messages=messages, decoding=Decoding(strategy="json_schema", grammar="{}"))
    sent = chat_body(form, model="m", llama=False)
    assert "grammar" not in sent
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "call", "strict": True, "schema": {}},
    }
    strings = Request(messages=messages, decoding=Decoding(strategy="string_tool_call"))
    assert chat_body(strings, model="m", llama=False)["tool_choice"] == "auto"
    assert completion_body(plain, model="m", llama=False) == {
        "model": "m",
        "prompt": "p",
        "max_tokens": 256,
        "temperature": 0.0,
        "seed": 3,
        "stop": ["x"],
        "skip_special_tokens": False,
    }


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        ({}, Usage()),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2}},
            Usage(prompt_tokens=9, completion_tokens=2),
        ),
        (
            {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}},
            Usage(prompt_tokens=9, evaluated=5),
        ),
        (
            {"usage": {"prompt_tokens": 9}, "timings": {"prompt_n": 3}},
            Usage(prompt_tokens=9, evaluated=3),
        ),
        ({"usage": "many", "timings": []}, Usage()),
        ({"usage": {"prompt_tokens": True}}, Usage()),
        ({"usage": {"prompt_tokens": 10**30, "completion_tokens": -1}}, Usage()),
    ],
)
def test_usage_is_what_the_server_says_and_null_where_it_does_not(
    body: dict[str, Any], usage: Usage
) -> None:
    assert read_usage(body) == usage


def native(arguments: Any) -> dict[str, Any]:
    call = {"function": {"name": "run", "arguments": arguments}}
    second = {"function": {"name": "stop", "arguments": "{}"}}
    return {"choices": [{"message": {"content": None, "tool_calls": [call, second]}}]}


@pytest.mark.parametrize("arguments", ['{"line": 3}', {"line": 3}])
def test_the_first_native_call_counts(arguments: Any) -> None:
    answer = read_choice(native(arguments))
    assert answer.call == ToolCall(tool="run", args={"line": 3})
    assert "stop" in str(answer.raw)  # recorded, not obeyed


@pytest.mark.parametrize("arguments", ['{"line":', "[1]", 4])
def test_a_native_call_without_an_object_of_arguments_stays_text(arguments: Any) -> None:
    answer = read_choice(native(arguments))
    assert answer.call is None
    assert answer.text.startswith('{"function": {"name": "run", "arguments": ')
