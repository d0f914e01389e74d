"""Validation by JSON Schema (2020-12), whose package is imported on first use."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
"""The beginning of each schema that Remora prints."""
_SLOW = "rfc3987_syntax"
"""Package that jsonschema imports for a format that is not checked here, which takes 2 s."""

_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
_OF_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})


def clearly_fits(values: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return True if `values` have the types of the properties that a schema only names by type.

    If False, a validator has to decide, whose package takes 0.1 s to import.
    """
    known, required = schema.get("properties", {}), {*schema.get("required", ())}
    return (
        schema.keys() <= _OF_OBJECT
        and known.keys() >= values.keys() >= required
        and all(
            known[name].keys() <= {"type", "description", "default"}
            and type(value) is _TYPES.get(str(known[name].get("type")))
            for name, value in values.items()
        )
    )


def validator(schema: Mapping[str, Any]) -> "Draft202012Validator":
    """Return a validator of a schema."""
    return validator_class()(schema)


@cache
def validator_class() -> "type[Draft202012Validator]":
    """Return the class of validators, which reports all errors of an instance."""
    hidden = {_SLOW: None} if _SLOW not in sys.modules else {}
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None is a module that cannot be imported
    try:
        from jsonschema import Draft202012Validator
    finally:
        for name in hidden:
            del sys.modules[name]
    return Draft202012Validator
