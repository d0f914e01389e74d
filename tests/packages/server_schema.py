"""The part of a `server.json` that Remora writes, as a strict JSON Schema.

From what the MCP registry's format of 2025-12-11 asks for (required keys, patterns and lengths), and
what the registry adds for PyPI; not a copy of its schema. Keys that Remora does not use are refused,
also if the registry knows them.
"""

from typing import Any

ADDRESS = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_VERSION: dict[str, Any] = {"type": "string", "pattern": r"^\d+\.\d+\.\d+([ab]\d+|rc\d+)?$"}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 100}
_NAMED = _object(
    "type name value", type={"const": "named"}, name={"pattern": "^--[a-z-]+$"}, value=_TEXT
)
_POSITIONAL = _object("type value", type={"const": "positional"}, value=_TEXT)
_ARGUMENTS = _list({"oneOf": [_NAMED, _POSITIONAL]})
# without registryBaseUrl: clients give it to uvx as an index, which the one allowed value is not
_PACKAGE = _object(
    "registryType identifier version runtimeHint transport",
    registryType={"const": "pypi"},
    identifier={"type": "string", "pattern": "^[a-z0-9-]+$"},
    version=_VERSION,
    runtimeHint={"const": "uvx"},
    runtimeArguments=_ARGUMENTS,
    packageArguments=_ARGUMENTS,
    transport=_object("type", type={"const": "stdio"}),
)
SERVER = {
    **_object(
        "$schema name description version packages",
        name={
            "type": "string",
            "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
            "minLength": 3,
            "maxLength": 200,
        },
        title=_TEXT,
        description=_TEXT,
        version=_VERSION,
        packages=_list(_PACKAGE),
        **{"$schema": {"const": ADDRESS}},
    ),
    "$schema": "https://json-schema.org/draft/2020-12/schema",
}
