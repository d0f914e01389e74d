"""Validation of tool calls against the granted tools and their schemas."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from remora.chat import ToolCall, ToolSchema
from remora.errors import RemoraError
from remora.json_schema import clearly_fits, validator_class
from remora.models.decoding.grammar import closed_schema
from remora.text import clip

_SHOWN_CHARS = 60


class BadCall(RemoraError):
    """An answer that is not a valid call. Its one-line message is shown to the model."""

    call: ToolCall | None = None
    """The call, if the answer makes one."""


def granted_call(call: ToolCall, tools: Iterable[ToolSchema]) -> ToolCall:
    """Return `call` if a granted tool accepts it. Raises BadCall with the call otherwise."""
    try:
        return validate_call(call, find_tool(call.tool, tools))
    except BadCall as bad:
        bad.call = call
        raise


def find_tool(name: str, tools: Iterable[ToolSchema]) -> ToolSchema:
    """Return the granted tool called `name`.

    Raises BadCall if there is no such tool. The message lists all tools.
    """
    granted = {tool.name: tool for tool in tools}
    if name not in granted:
        raise BadCall(unknown_tool(name, granted))
    return granted[name]


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """Return the message for a call of a tool that is not among `known`."""
    return f"unknown tool {short_repr(name)}; the tools are {', '.join(known)}"


def validate_call(call: ToolCall, tool: ToolSchema) -> ToolCall:
    """Return `call` if its arguments match the schema of `tool`. Raises BadCall otherwise."""
    _check_names(call, tool)
    try:
        json.dumps(call.args, ensure_ascii=False, allow_nan=False).encode()
        error = _first_error(closed_schema(tool.parameters), call.args)
    except RecursionError as too_deep:
        raise BadCall(f"{tool.name}: the arguments are nested too deeply") from too_deep
    except ValueError as error:
        raise BadCall(f"{tool.name}: the arguments contain an unpaired surrogate or NaN") from error
    if error is not None:
        raise BadCall(f"{tool.name}: {_reason(error)}")
    return call


def short_repr(value: Any) -> str:
    return clip(repr(value), _SHOWN_CHARS)


def _check_names(call: ToolCall, tool: ToolSchema) -> None:
    known = tool.parameters.get("properties", {})
    for name in tool.parameters.get("required", ()):
        if name not in call.args:
            raise BadCall(f"{tool.name}: the argument {name!r} is missing")
    for name in call.args:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise BadCall(f"{tool.name}: no argument {short_repr(name)}; it takes {takes}")


def _first_error(schema: dict[str, Any], args: dict[str, Any]) -> Any:
    if clearly_fits(args, schema):
        return None
    errors = _validator()(schema).iter_errors(args)
    from jsonschema.exceptions import best_match

    return best_match(errors)


@cache
def _validator() -> Any:
    """Return the validator class."""
    known = validator_class()
    from jsonschema.validators import extend

    # JSON Schema accepts 1.0 as an integer, but tools do not, for example as a line number
    checker = known.TYPE_CHECKER.redefine("integer", _is_integer)
    return extend(known, type_checker=checker)  # type: ignore[no-untyped-call]


def _is_integer(checker: object, value: object) -> bool:
    del checker
    return isinstance(value, int) and not isinstance(value, bool)


def _reason(error: Any) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    value = short_repr(error.instance)
    expected = error.validator_value
    match error.validator:
        case "type":
            kinds = expected if isinstance(expected, list) else [expected]
            return f"{where} must be of type {' or '.join(kinds)}, not {value}"
        case "enum":
            return f"{where} must be one of {', '.join(map(repr, expected))}, not {value}"
    return f"{where} is {value}, against {error.validator}: {short_repr(expected)}"
