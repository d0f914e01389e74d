"""Attributes in OTLP's JSON: `{"key", "value": {"stringValue" …}}`."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

_INT64 = 2**63


def otlp_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an entry for each value that is not null, in order."""
    return [{"key": key, "value": any_value(v)} for key, v in attributes.items() if v is not None]


def any_value(value: Any) -> dict[str, Any]:
    """Return a string, boolean, number or list of these; anything else as its `str`."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return {"intValue": str(value)}
    if isinstance(value, float) and isfinite(value):
        return {"doubleValue": value}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    return {"stringValue": str(value)}
