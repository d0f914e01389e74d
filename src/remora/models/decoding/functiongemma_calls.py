"""Strict parser for FunctionGemma calls: `<start_function_call>call:NAME{arg:<escape>v<escape>}…`.

Strings are enclosed in a pair of `<escape>` tokens and may contain any other text. Numbers, `true`,
`false`, `null`, arrays `[a,b]` and objects `{key:value}` are not enclosed in `<escape>` tokens.
Keys are not quoted.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_validation import BadCall, granted_call, short_repr
from remora.models.decoding.grammar import resolve_ref

START, END, ESCAPE = "<start_function_call>", "<end_function_call>", "<escape>"

_AFTER = re.compile(r"(?:\s|<start_function_response>|<end_of_turn>|<eos>)*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BARE = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_MAX_DEPTH = 32


def parse_functiongemma(text: str, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return the first call in `text`. Further calls are ignored.

    If the declared type of an argument is not a string, a string value is converted to that type.
    If the declared type is a string, a bare number or word is converted to a string. This is
    necessary because some servers declare every argument as a string. Nothing else is repaired.
    Raises BadCall, with a one-line message, if the call is not valid.
    """
    reader = _Parser(text)
    calls = []
    reader.skip(_AFTER)
    while not reader.at_end():
        calls.append(reader.call())
        reader.skip(_AFTER)
    if not calls:
        raise BadCall("the answer contains no function call")
    name, args = calls[0]
    tool = next((tool for tool in tools if tool.name == name), ToolSchema(name=name))
    return granted_call(ToolCall(tool=name, args=typed_arguments(args, tool)), tools)


def string_declaration(tool: ToolSchema) -> ToolSchema:
    """Return a declaration of the tool in which all arguments are strings.

    vLLM's parser for FunctionGemma drops all other arguments.
    """
    properties = {
        name: {"type": "string", "description": schema.get("description", "")}
        for name, schema in tool.parameters.get("properties", {}).items()
    }
    required = tool.parameters.get("required", [])
    parameters = {"type": "object", "properties": properties, "required": required}
    return msgspec.structs.replace(tool, parameters=parameters)


def typed_arguments(args: Mapping[str, Any], tool: ToolSchema) -> dict[str, Any]:
    """Convert arguments that are strings, numbers or words to the types that the tool declares.

    Validation later rejects arguments that cannot be converted.
    """
    properties = tool.parameters.get("properties", {})
    return {name: _coerced(args[name], properties.get(name), tool.parameters) for name in args}


class _Bare(str):
    """A bare number or word. Its original spelling is kept in case the argument is a string."""

    __slots__ = ()


class _Parser:
    """Recursive-descent parser for a model's answer."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._text)

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def call(self) -> tuple[str, dict[str, Any]]:
        self._expect(START + "call:")
        name = self._match(_NAME, "a tool's name")
        args = self._object(0)
        self._expect(END)
        return name, args

    def _object(self, depth: int) -> dict[str, Any]:
        self._expect("{")
        found: dict[str, Any] = {}
        while not self._accept("}"):
            if found:
                self._expect(",")
            if (key := self._match(_NAME, "an argument's name")) in found:
                raise BadCall(f"{key} is given twice in one call")
            self._expect(":")
            found[key] = self._value(depth + 1)
        return found

    def _array(self, depth: int) -> list[Any]:
        self._expect("[")
        found: list[Any] = []
        while not self._accept("]"):
            if found:
                self._expect(",")
            found.append(self._value(depth + 1))
        return found

    def _value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise BadCall(f"the arguments are nested more than {_MAX_DEPTH} levels deep")
        if self._accept(ESCAPE):
            text, escape, _ = self._text[self._at :].partition(ESCAPE)
            if not escape:
                raise BadCall(f"unterminated string: {short_repr(text)}")
            self._at += len(text) + len(ESCAPE)
            return text
        if self._is_next("{"):
            return self._object(depth)
        if self._is_next("["):
            return self._array(depth)
        return _Bare(self._match(_BARE, "a value"))

    def _match(self, pattern: re.Pattern[str], what: str) -> str:
        if (found := pattern.match(self._text, self._at)) is None:
            raise self._unexpected(what)
        self._at = found.end()
        return found[0]

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise self._unexpected(token)

    def _accept(self, token: str) -> bool:
        if not self._is_next(token):
            return False
        self._at += len(token)
        return True

    def _is_next(self, token: str) -> bool:
        return self._text.startswith(token, self._at)

    def _unexpected(self, expected: str) -> BadCall:
        there = self._text[self._at : self._at + 40]
        return BadCall(
            f"expected {expected} at {short_repr(there)}" if there else f"{expected} is missing"
        )


def _coerced(value: Any, schema: Any, top: Mapping[str, Any]) -> Any:
    """Convert `value` to its declared type, if it can be converted."""
    schema = _resolve_schema(schema, top)
    match value:
        case dict():
            inner = schema.get("properties", {})
            return {k: _coerced(v, inner.get(k), top) for k, v in value.items()}
        case list():
            return [_coerced(v, schema.get("items"), top) for v in value]
    kinds = _kinds(schema, top)
    if isinstance(value, _Bare):
        return str(value) if kinds == {"string"} else _read(str(value))
    if not isinstance(value, str):  # parsed by a server that does not know the declared type
        return json.dumps(value) if kinds == {"string"} else value
    return value if not kinds or "string" in kinds else _read(value)


def _resolve_schema(schema: Any, top: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(schema, Mapping) and "$ref" in schema:
        schema = resolve_ref(schema["$ref"], top)
    return schema if isinstance(schema, Mapping) else {}


def _kinds(schema: Mapping[str, Any], top: Mapping[str, Any]) -> set[str]:
    """Return the types that `schema` allows, or an empty set if it does not declare a type."""
    if "enum" in schema and "type" not in schema:
        return {"string" if isinstance(v, str) else "other" for v in schema["enum"]}
    choices = [c for word in ("anyOf", "oneOf") for c in schema.get(word, ())]
    kinds = {kind for c in choices for kind in _kinds(_resolve_schema(c, top), top)}
    declared = schema.get("type", [])
    return kinds | set([declared] if isinstance(declared, str) else declared)


def _read(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
