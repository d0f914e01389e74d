"""Strict parser for JSON calls: `{"tool":"NAME","args":{…}}`."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_validation import (
    BadCall,
    granted_call,
    is_cut,
    short_repr,
)


def parse_json_call(text: str, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return the first call in `text`. Further calls are ignored, and nothing is repaired.

    Raises BadCall if the text is not JSON or does not start with a valid call.
    """
    values = _values(text)
    match values[0]:
        case {"tool": str(name), "args": dict(args)} if len(values[0]) == 2:
            return granted_call(ToolCall(tool=name, args=args), tools)
    raise BadCall(f'not a call {{"tool": …, "args": {{…}}}}: {short_repr(values[0])}')


def _values(text: str) -> list[Any]:
    """Parse one or more JSON values that are separated only by whitespace."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    values, remaining = [], text.strip()
    if not remaining:
        raise BadCall("the answer is empty")
    try:
        remaining.encode()
        while remaining:
            value, end = decoder.raw_decode(remaining)
            values.append(value)
            remaining = remaining[end:].lstrip()
    except RecursionError as error:
        raise BadCall("the answer is nested too deeply") from error
    except ValueError as error:
        raise BadCall(_why_not_json(error)) from error
    return values


def _why_not_json(error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"the answer is not JSON: {error}"
    if is_cut(error):
        return f"the answer ends inside a tool call: {short_repr(error.doc)}"
    return f"the answer is not JSON: {error.msg}: {short_repr(error.doc)}"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def read_native_call(call: ToolCall | None, raw: Any, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return the call if it is valid. `raw` is the server's response, which explains a missing call.

    Raises BadCall, with a one-line message, if there is no call or if it is not valid.
    """
    if call is None:
        raise BadCall(_why_no_call(raw))
    return granted_call(call, tools)


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
