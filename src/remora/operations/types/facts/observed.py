"""Run-time types that `remora hub observe` recorded, for the slots of a project."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from remora.ids import NodeKey, escape_path, node_key
from remora.operations.types.facts.evidence import Observed, key_of
from remora.operations.types.source.project_index import File, ProjectIndex
from remora.operations.types.source.slots import RETURN


def observed_types(index: ProjectIndex, facts: Mapping[str, Mapping[str, Any]]) -> Observed:
    """Return the run-time types of missing annotations.

    `facts` has the fields of `ObservedValues` by node key. Results of generators are left out.
    """
    found: dict[Any, tuple[str, ...]] = {}
    for file in index.files.values() if facts else ():
        for key, number in _node_keys(file).items():
            known = facts.get(key)
            if known is None:
                continue
            function = file.functions[number]
            for name, seen in known.get("parameters", {}).items():
                parameter = function.parameter(name)
                if parameter is not None and not parameter.term and seen:
                    found[key_of(function, name)] = tuple(seen)
            if known.get("returns") and not function.returns and not known.get("yields"):
                found[key_of(function, RETURN)] = tuple(known["returns"])
    return found


def _node_keys(file: File) -> dict[NodeKey, int]:
    """Map the node key of each function of a file to its number."""
    seen: Counter[str] = Counter()
    path = escape_path(file.path)
    keys = {}
    for function in file.functions:
        seen[function.name] += 1
        repeat = seen[function.name]
        name = function.name if repeat == 1 else f"{function.name}#{repeat}"
        keys[node_key(path, name)] = function.number
    return keys
