"""Conversion of written arguments to the types that a tool declares."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from remora.chat import ToolSchema
from remora.models.decoding.grammar import resolve_ref

_PYTHON_WORDS = {"True": True, "False": False, "None": None}


class Bare(str):
    """A bare number or word. Its original spelling is kept in case the argument is a string."""

    __slots__ = ()


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


def _coerced(value: Any, schema: Any, top: Mapping[str, Any]) -> Any:
    """Convert `value` to its declared type, if it can be converted."""
    schema = _resolve_schema(schema, top)
    kinds = _kinds(schema, top)
    match value:
        case dict():
            inner = schema.get("properties", {})
            return {k: _coerced(v, inner.get(k), top) for k, v in value.items()}
        case list() if len(value) != 1 or not kinds or "array" in kinds:
            return [_coerced(v, schema.get("items"), top) for v in value]
        case list():  # small models wrap single values
            return _coerced(value[0], schema, top)
    if isinstance(value, Bare):
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
    if text in _PYTHON_WORDS:
        return _PYTHON_WORDS[text]
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
