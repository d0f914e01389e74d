from typing import Any

import pytest

from remora.chat import Message, ToolCall, ToolSchema, Usage
from remora.models.client.wire_format import (
    UnusableAnswer,
    chat_body,
    completion_body,
    read_choice,
    read_usage,
)
from remora.models.protocol import Decoding, Request


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
                "function": {
                    "name": "run",
                    "description": "d",
                    "parameters": {"type": "object"},
                },
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


@pytest.mark.parametrize("arguments", ['{"line":', "[]", None, 4])
def test_a_native_call_without_an_object_of_arguments_stays_text(arguments: Any) -> None:
    answer = read_choice(native(arguments))
    assert answer.call is None
    assert answer.text == f"run({arguments})"


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": ["x"]}, {"choices": {}}])
def test_an_answer_without_a_choice_is_unusable(body: dict[str, Any]) -> None:
    with pytest.raises(UnusableAnswer):
        read_choice(body)
