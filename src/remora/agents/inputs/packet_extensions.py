"""Validation of packet extensions against the agent's schema."""

import re
from typing import Any

from jsonschema import Draft202012Validator
from msgspec import UNSET
from msgspec.structs import replace
from referencing.exceptions import Unresolvable

from remora.memory.delta import PacketDelta, error_text


def checked_extensions(
    delta: PacketDelta, current: dict[str, Any], schema: dict[str, Any] | None
) -> PacketDelta:
    """Return the delta if the resulting extensions are valid.

    If they violate the schema, return the delta with an error instead of its extensions. The schema
    applies to the merged extensions. Agents without a schema cannot have extensions.
    """
    if delta.extensions is UNSET:
        return delta
    merged = {k: v for k, v in {**current, **delta.extensions}.items() if v is not None}
    problem = _problem(merged, schema)
    if not problem:
        return delta
    return replace(delta, extensions=UNSET, set_error=error_text(f"extensions: {problem}"))


def _problem(extensions: dict[str, Any], schema: dict[str, Any] | None) -> str:
    if schema is None:
        return "the agent declares no packet_extension"
    try:
        error = next(Draft202012Validator(schema).iter_errors(extensions), None)
    except (Unresolvable, RecursionError, re.error) as broken:
        return f"the agent's packet_extension cannot be checked: {broken}"
    return error.message if error is not None else ""
