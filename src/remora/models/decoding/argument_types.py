"""Conversion of written arguments to the types that a tool declares."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic_core import from_json

from remora.chat import ToolSchema
from remora.models.decoding.call_reader import MAX_CHARS, Bare, whole_value
from remora.models.decoding.call_validation import BadCall
from remora.models.decoding.grammar import resolve_ref

_EXACT = 2**53
"""Above it, a float may not be the integer that was written."""


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

    A null for an argument that cannot be null is left out. Validation later rejects what is wrong.
    """
    top = tool.parameters
    properties = top.get("properties", {})
    typed = {name: _coerced(args[name], properties.get(name), top) for name in args}
    free = {n for n in typed if {"null", "other"} & (_kinds(properties.get(n), top) or {"null"})}
    kept = free.union(top.get("required", ()))
    return {name: value for name, value in typed.items() if value is not None or name in kept}


def _coerced(value: Any, schema: Any, top: Mapping[str, Any]) -> Any:
    """Convert `value` to its declared type, if it can be converted."""
    schema = _resolve_schema(schema, top)
    kinds = _kinds(schema, top)
    is_text = not kinds or "string" in kinds
    match value:
        case dict():
            schema = _branch(schema, "object", top)
            inner, other = schema.get("properties", {}), schema.get("additionalProperties")
            return {k: _coerced(v, inner.get(k, other), top) for k, v in value.items()}
        case list() if len(value) != 1 or not kinds or "array" in kinds:
            items = _branch(schema, "array", top).get("items")
            return [_coerced(v, items, top) for v in value]
        case list():  # small models wrap single values
            return _coerced(value[0], schema, top)
        case str() if kinds == {"string"} or (is_text and not isinstance(value, Bare)):
            return str(value)
        case str():
            read = read_value(value)
            return read if read == value else _coerced(read, schema, top)
        case float() if value.is_integer() and abs(value) < _EXACT and "number" not in kinds:
            value = int(value) if "integer" in kinds else value
    # a number or a word may have been read by a server that does not know the declared type
    return json.dumps(value) if kinds == {"string"} and value is not None else value


def _resolve_schema(schema: Any, top: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(schema, Mapping) and "$ref" in schema:
        schema = resolve_ref(schema["$ref"], top)
    return schema if isinstance(schema, Mapping) else {}


def _branch(schema: Mapping[str, Any], kind: str, top: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only choice of `schema` that takes values of `kind`, or `schema` itself."""
    choices = [c for word in ("anyOf", "oneOf") for c in schema.get(word, ())]
    fitting = [choice for choice in choices if kind in _kinds(choice, top)]
    return _resolve_schema(fitting[0], top) if len(fitting) == 1 else schema


def _kinds(schema: Any, top: Mapping[str, Any]) -> set[str]:
    """Return the types that `schema` allows, or an empty set if it does not declare a type."""
    schema = _resolve_schema(schema, top)
    if "enum" in schema and "type" not in schema:
        return {"string" if isinstance(v, str) else "other" for v in schema["enum"]}
    choices = [c for word in ("anyOf", "oneOf") for c in schema.get(word, ())]
    kinds = {kind for c in choices for kind in _kinds(c, top)}
    declared = schema.get("type", [])
    return kinds | set([declared] if isinstance(declared, str) else declared)


def read_value(text: str) -> Any:
    """Return the value that a text is, or the text itself. A long one is JSON of few levels."""
    try:
        value = whole_value(text) if len(text) <= MAX_CHARS else from_json(text.encode())
        return msgspec.json.decode(value.lower()) if isinstance(value, Bare) else value
    except (BadCall, ValueError):
        return text
