"""JSON Schema for the type annotations of a script's inputs."""

import ast
from typing import Any

from remora.python_text import parse

Schema = dict[str, Any]

_SCALARS: dict[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": "array"},
    "List": {"type": "array"},
    "dict": {"type": "object"},
    "Dict": {"type": "object"},
    "None": {"type": "null"},
}


def annotation_schema(annotation: ast.expr) -> Schema:
    """Return the JSON Schema for an annotation, or `{}` if the annotation cannot be converted."""
    if isinstance(annotation, ast.Constant):
        return _constant(annotation.value)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _any_of([annotation.left, annotation.right])
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        return _generic(_name(annotation.value), parts)
    return dict(_SCALARS.get(_name(annotation), {}))


def _name(node: ast.expr) -> str:
    """Return the unqualified name, e.g. `Literal` for `typing.Literal`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _constant(value: object) -> Schema:
    if value is None:
        return {"type": "null"}
    if isinstance(value, str):  # a quoted annotation
        try:
            return annotation_schema(parse(value, "eval").body)
        except SyntaxError:
            return {}
    return {}


def _generic(name: str, parts: list[ast.expr]) -> Schema:
    match name:
        case "Literal":
            return {"enum": [ast.literal_eval(part) for part in parts]}
        case "Optional":
            return _any_of([*parts, ast.Constant(value=None)])
        case "Union":
            return _any_of(parts)
        case "list" | "List" | "Sequence":
            return _with({"type": "array"}, "items", parts[0])
        case "dict" | "Dict" | "Mapping":
            return _with({"type": "object"}, "additionalProperties", parts[-1])
        case _:
            return {}


def _with(schema: Schema, key: str, part: ast.expr) -> Schema:
    inner = annotation_schema(part)
    return {**schema, key: inner} if inner else schema


def _any_of(parts: list[ast.expr]) -> Schema:
    options: list[Schema] = []
    for part in parts:
        option = annotation_schema(part)
        options += option.get("anyOf", [option])
    if {} in options:
        return {}
    if all(set(option) == {"type"} for option in options):
        types = [option["type"] for option in options]
        return {"type": [t for each in types for t in (each if isinstance(each, list) else [each])]}
    return {"anyOf": options}
