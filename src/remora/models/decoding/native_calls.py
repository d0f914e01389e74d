"""Strict reader for calls that a server has parsed from a model's answer."""

import json
from collections.abc import Sequence
from typing import Any

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_validation import (
    BadCall,
    find_tool,
    is_cut,
    short_repr,
    validate_call,
)


def read_native_call(call: ToolCall | None, raw: Any, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return the call if it is valid. `raw` is the server's response, which explains a missing call.

    Raises BadCall, with a one-line message, if there is no call or if it is not valid.
    """
    if call is None:
        raise BadCall(_why_no_call(raw))
    return validate_call(call, find_tool(call.tool, tools))


def _why_no_call(raw: Any) -> str:
    match raw:
        case {"choices": [{"message": {"tool_calls": [{"function": dict(function)}, *_]}}, *_]}:
            name, arguments = function.get("name"), function.get("arguments")
        case _:
            return "the answer has no tool call"
    try:
        json.loads(arguments) if isinstance(arguments, str) else None
    except (ValueError, RecursionError) as error:  # such as an integer with too many digits
        if isinstance(error, json.JSONDecodeError) and is_cut(error):
            return f"the answer ends inside a tool call: {name} with {short_repr(arguments)}"
    return f"the arguments of {name} are not a JSON object: {short_repr(arguments)}"
