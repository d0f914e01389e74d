"""Run-time types of functions, as candidates for their annotations."""

from collections.abc import Iterable, Mapping
from typing import Any

from remora.operations.types.facts.evidence import Observed, key_of
from remora.operations.types.source.project_index import Function
from remora.operations.types.source.slots import RETURN


def observed_types(facts: Iterable[tuple[Function, Mapping[str, Any]]]) -> Observed:
    """Return the run-time types of missing annotations.

    The facts of a function are `{"parameters": {"x": ["int", "str"]}, "returns": ["None"]}`. Types
    are written as in annotations.
    """
    found = {}
    for function, known in facts:
        for name, seen in (known.get("parameters") or {}).items():
            parameter = function.parameter(name)
            if parameter is not None and not parameter.term and seen:
                found[key_of(function, name)] = tuple(seen)
        if known.get("returns") and not function.returns:
            found[key_of(function, RETURN)] = tuple(known["returns"])
    return found
