"""Calls in the words of each family, for tests: what the models' own chat templates write."""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_parsing import known_call, read_written_call

Write = Callable[[str, dict[str, Any]], str]


def _with_marks(value: Any, mark: str) -> str:
    match value:
        case str():
            return f"{mark}{value}{mark}"
        case dict():
            return "{" + ",".join(f"{k}:{_with_marks(v, mark)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(_with_marks(item, mark) for item in value) + "]"
    return json.dumps(value)


def functiongemma(name: str, args: dict[str, Any]) -> str:
    inner = _with_marks(args, "<escape>")
    return f"<start_function_call>call:{name}{inner}<end_function_call>"


def gemma(name: str, args: dict[str, Any]) -> str:
    inner = _with_marks(args, '<|"|>')
    return f"<|tool_call>call:{name}{inner}<tool_call|>"


def lfm(name: str, args: dict[str, Any]) -> str:
    inner = ", ".join(f"{key}={value!r}" for key, value in args.items())
    return f"<|tool_call_start|>[{name}({inner})]<|tool_call_end|>"


def lfm_json(name: str, args: dict[str, Any]) -> str:
    return f"<|tool_call_start|>[{bare_json(name, args)}]<|tool_call_end|>"


def hermes(name: str, args: dict[str, Any]) -> str:
    return f"<tool_call>\n{bare_json(name, args)}\n</tool_call>"


def qwen_coder(name: str, args: dict[str, Any]) -> str:
    def text(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    inner = "".join(f"<parameter={key}>\n{text(v)}\n</parameter>\n" for key, v in args.items())
    return f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>"


def spoken(name: str, args: dict[str, Any]) -> str:
    inner = ", ".join(f"{key}={json.dumps(value)}" for key, value in args.items())
    return f"{name}({inner})"


def bare_json(name: str, args: dict[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": args})


WRITE: Mapping[str, Write] = MappingProxyType(
    {
        "functiongemma": functiongemma,
        "gemma": gemma,
        "lfm": lfm,
        "lfm_json": lfm_json,
        "hermes": hermes,
        "qwen_coder": qwen_coder,
        "json": bare_json,
        "spoken": spoken,
    }
)
"""Writers by family, and by form where a family has two."""


def parse_call(text: str, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return the call in a text, with the types that its tool declares."""
    return known_call(read_written_call(text, tools), tools)
