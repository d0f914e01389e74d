"""JSON Schemas that strict clients take, for arguments that are checked by other schemas.

Gemini needs one `type` in each schema and takes an `enum` of texts only; OpenAI's strict mode takes
no `default` and no open objects. One such word costs a client all tools.

{"enum": ["a", None]}              {"type": "string", "enum": ["a"]}
{"enum": [1, 2]}                   {"type": "integer", "description": "one of 1, 2"}
{"type": ["integer", "string"]}    {"type": "string"}
{"type": "array", "default": [1]}  {"type": "array", "items": {"type": "string"}, "description": "default [1]"}
"""

import json
from collections.abc import Mapping
from typing import Any

_KINDS = {str: "string", list: "array", dict: "object", float: "number", int: "integer"}
_KINDS |= {bool: "boolean", type(None): "null"}
_BROADEST = tuple(_KINDS.values())
"""Types from the one in which most can be said. A text is what clients write for any value."""


def client_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema for clients, with one type and without words that some of them refuse."""
    kind, schema = _one_kind(schema)
    made: dict[str, Any] = {"type": "string" if kind == "null" else kind}
    made |= {word: schema[word] for word in ("minimum", "maximum") if word in schema}
    told = [schema.get("description", "").strip()]
    values = [value for value in schema.get("enum", ()) if value is not None]
    if values and all(value and isinstance(value, str) for value in values):
        made["enum"] = values
    elif values:
        told.append(f"one of {', '.join(map(json.dumps, values))}")
    if schema.get("default") not in (None, ""):
        told.append(f"default {json.dumps(schema['default'])}")
    if kind == "array":
        made["items"] = client_schema(schema.get("items", {}))
    if kind == "object" and (parts := schema.get("properties")) is not None:
        made["properties"] = {name: client_schema(part) for name, part in parts.items()}
        made |= {"required": [*required]} if (required := schema.get("required")) else {}
    return made | ({"description": text} if (text := "; ".join(filter(None, told))) else {})


def _one_kind(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the type that clients get, and the schema of its values."""
    branches = [_one_kind(branch) for branch in schema.get("anyOf", ())]
    kinds: Any = [kind for kind, _ in branches] or schema.get("type")
    kinds = kinds or [_KINDS[type(value)] for value in schema.get("enum", [""])]
    kind = min([kinds] if isinstance(kinds, str) else kinds, key=_BROADEST.index)
    alike = [branch for branch_kind, branch in branches if branch_kind == kind]
    return kind, {**schema, **alike[0]} if len(alike) == 1 else schema
