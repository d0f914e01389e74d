"""Servers of FunctionGemma: one for plain completions, and two that render and parse calls."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from tests.openai_server import Handler, Server, answer, openai_server, send_json

ROLE = "You are a model that can do function calling with the following functions"
TEXT = "Keep what a visitor picked."
_DECLARED = re.compile(r"<start_function_declaration>declaration:(\w+)\{(.*?)<end_function_decl")
_TYPE = r"{}:\{{description:<escape>.*?<escape>,type:<escape>(\w+)<escape>"
_SUGGESTED = re.compile(r"^- (\w+)\(", re.MULTILINE)
_CALL = re.compile(r"<start_function_call>call:(\w+)\{(.*?)\}<end_function_call>")
_STRING = re.compile(r"(\w+):<escape>(.*?)<escape>")
_SPECIAL = re.compile(r"<(?:start|end)_function_call>|<escape>")
Parse = Callable[[str], dict[str, Any]]
"""Reads the arguments of a call."""


def generated(prompt: str) -> str:
    """Return what the model writes after a prompt, which must have the format that it knows."""
    developer, _, user = prompt.partition("<end_of_turn>\n<start_of_turn>user\n")
    declared = dict(_DECLARED.findall(developer))
    if ROLE + "<start_function" not in developer or not declared:
        return "I cannot assist with this."
    if not user.endswith("<end_of_turn>\n<start_of_turn>model\n"):
        return "I cannot assist with this."
    tool, *_ = _SUGGESTED.findall(user)
    args = f"summary:{_written('summary', TEXT, declared[tool])}"
    return f"<start_function_call>call:{tool}{{{args}}}<end_function_call>"


def _written(name: str, value: str, declaration: str) -> str:
    """Return a value as the model writes it: only values of type STRING are quoted."""
    kind = re.search(_TYPE.format(name), declaration)
    assert kind is not None, declaration
    return f"<escape>{value}<escape>" if kind[1] == "STRING" else value


def applied_template(messages: list[dict[str, str]], tools: list[dict[str, Any]]) -> str:
    """Return the prompt that a server makes of a chat, by the template of the model."""
    system, user = (message["content"] for message in messages)
    declared = "".join(_declaration(tool["function"]) for tool in tools)
    return (
        f"<start_of_turn>developer\n{system}{declared}<end_of_turn>\n"
        f"<start_of_turn>user\n{user}<end_of_turn>\n<start_of_turn>model\n"
    )


def _declaration(tool: dict[str, Any]) -> str:
    properties = ",".join(
        f"{name}:{{description:<escape>{schema.get('description', '')}<escape>,"
        f"type:<escape>{schema['type'].upper()}<escape>}}"
        for name, schema in sorted(tool["parameters"]["properties"].items())
    )
    return (
        f"<start_function_declaration>declaration:{tool['name']}{{"
        f"description:<escape>{tool['description']}<escape>,"
        f"parameters:{{properties:{{{properties}}},type:<escape>OBJECT<escape>}}}}"
        "<end_function_declaration>"
    )


def strings_only(arguments: str) -> dict[str, Any]:
    return dict(_STRING.findall(arguments))


def all_values(arguments: str) -> dict[str, Any]:
    bare = re.findall(r"(\w+):(-?\d+|true|false)(?=,|$)", _STRING.sub("", arguments))
    return {**strings_only(arguments), **{name: json.loads(value) for name, value in bare}}


PARSERS: Mapping[str, Parse] = MappingProxyType({"vllm": strings_only, "ollama": all_values})


@contextmanager
def native_server(kind: str) -> Iterator[Server]:
    """Serve chats whose tools are rendered and parsed as vLLM or Ollama do."""

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        text = generated(applied_template(request["messages"], request["tools"]))
        call = _CALL.search(text)
        if call is None or request["tool_choice"] != "auto":  # `required` makes vLLM write JSON
            send_json(handler, answer(text=_SPECIAL.sub("", text)))
        else:
            send_json(handler, answer((call[1], PARSERS[kind](call[2]))))

    with openai_server(chat, model="functiongemma") as server:
        yield server


@contextmanager
def completion_server() -> Iterator[Server]:
    """Serve plain completions, from which special tokens are removed unless they are asked for."""

    def complete(handler: Handler, request: dict[str, Any], _number: int) -> None:
        text = generated(request.get("prompt", ""))
        if request.get("skip_special_tokens", True):
            text = _SPECIAL.sub("", text)
        choice = {"index": 0, "text": text, "finish_reason": "stop"}
        send_json(handler, {"object": "text_completion", "model": "m", "choices": [choice]})

    with openai_server(complete, model="functiongemma", complete=complete) as server:
        yield server
