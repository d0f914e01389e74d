"""Native calls, which a server parsed. Their arguments are an object, nothing, or a text of one."""

import json
from collections.abc import Callable
from typing import Any

from remora.chat import ToolSchema
from remora.models.decoding.argument_types import typed_arguments
from remora.models.decoding.call_reader import Bare, Written, whole_value
from remora.models.decoding.call_validation import BadCall, short_repr
from remora.text import clip, escape_line

_KEYS = ("arguments", "args", "parameters", "input")
THINKING = ("reasoning_content", "reasoning", "thinking")
"""Keys of messages in which servers send a model's thinking."""


def read_native_call(raw: Any) -> Written | None:
    """Return the first native call in a response, or None if it has none.

    Raises BadCall, with the place in the text, if there is a call that cannot be read.
    """
    if (item := native_item(raw)) is None:
        return None
    function = item.get("function", item) if isinstance(item, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str) or not name.strip():
        raise BadCall(f"a tool call without a name: {short_repr(item)}")
    try:
        given = next(filter(None, map(function.get, _KEYS)), "")
        args = read_arguments(given if isinstance(given, str) else json.dumps(given))
        return Written(name, typed_arguments(args, ToolSchema(name=name)))
    except (BadCall, RecursionError) as error:
        shown = clip(escape_line(name), 60)
        raise BadCall(f"the arguments of {shown} are not a JSON object: {error}") from error


def native_item(raw: Any) -> Any:
    """Return the first native call in a response as it was sent, or None if it has none."""
    match _message(raw):
        case {"tool_calls": [item, *_]} | {"function_call": dict(item)}:
            return {} if item is None else item
    return None


def thinking_text(raw: Any) -> str:
    """Return the thinking that a server sent apart from its answer, with the mark that begins it.

    A call in it is not a decision, because the model may reject it in the next line. If the thinking
    has an end mark, the server took the answer for a part of it: what follows the mark is read.
    """
    texts = [_message(raw).get(key) for key in THINKING]
    return next((f"<think>{text}" for text in texts if isinstance(text, str) and text.strip()), "")


def read_arguments(value: Any, read: Callable[[str], Any] = whole_value) -> dict[Any, Any]:
    """Return the object that a value is, or that its text describes. Nothing is an empty object.

    Raises BadCall, with the place in the text, if there is no object or if there are two readings.
    """
    for _ in range(4):  # decision: more texts within each other are not an answer
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value in (None, []) or isinstance(value, dict):
            return value or {}
        if not isinstance(value, str) or isinstance(value, Bare):
            break
        value = read(value) if value.strip() else None
    raise BadCall(f"expected {{ at {short_repr(value)}")


def _message(raw: Any) -> dict[str, Any]:
    match raw:
        case {"choices": [{"message": dict(message)}, *_]}:
            return message
    return {}
