"""Reasons that the result of a call cannot be asserted."""

from collections.abc import Mapping, Sequence
from typing import Any

_REASONS = {
    "late": "it takes longer than a second",
    "unready": "the statements before it raise {type}",
    "effect": "it has effects outside the process ({effect})",
    "indirect": "it does not enter the function, or only through another one",
    "long": "its result is too long for a test",
    "deprecated": "it warns about deprecated code",
    "environment": "its result depends on the machine or on a version",
    "raised": "it raises {type}, which no code of the project raises",
    "value": "its result cannot be written in a test",
}
_ENDED = "it ends the process, or was not tried"
_CHANGES = "its result differs between two runs"


def call_problem(seen: Sequence[Mapping[str, Any] | None]) -> str:
    """Return why a call has no test case. `seen` contains the results of repeated runs."""
    first, *others = seen
    if first is None or first.get("how") not in _REASONS:
        return _ENDED
    if any(_outcome(each) != _outcome(first) for each in others):
        return _CHANGES
    return _REASONS[str(first["how"])].format(type=first.get("type"), effect=first.get("effect"))


def _outcome(result: Mapping[str, Any] | None) -> tuple[object, ...]:
    found = result or {}
    return tuple(found.get(key) for key in ("how", "type", "claims"))
