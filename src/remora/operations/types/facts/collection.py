"""Collection of the evidence for all missing annotations of a project."""

from collections.abc import Mapping
from typing import Any

from remora.operations.types.checker.type_checker import TypeChecker
from remora.operations.types.facts.evidence import Collector, Evidence, SlotKey
from remora.operations.types.facts.observed import observed_types
from remora.operations.types.facts.probes import Instrumented, find_probes
from remora.operations.types.source.project_index import ProjectIndex
from remora.threads import raise_if_cancelled


def collect(
    index: ProjectIndex, checker: TypeChecker, observed: Mapping[str, Any] | None = None
) -> dict[SlotKey, list[Evidence]]:
    """Return the evidence for all missing annotations of a project."""
    callees = _callees(index)
    bases = {
        base
        for file in index.files.values()
        for each in file.classes.values()
        for base in each.bases
        if base not in index.classes
    }
    asked = {}
    for path, file in index.files.items():
        raise_if_cancelled()
        probes = find_probes(file, callees, bases)
        asked[path] = probes, Instrumented(file, probes)
    revealed = checker.check({path: copy.text for path, (_, copy) in asked.items()}).revealed
    collector = Collector(index)
    for probes, copy in asked.values():
        collector.add_probes(probes, copy, revealed)
    return collector.finish(observed_types(index, observed or {}))


def _callees(index: ProjectIndex) -> set[str]:
    """Return the names by which functions with missing annotations are called."""
    names = set()
    for function in index.every_function():
        if all(each.term for each in function.parameters):
            continue
        names.add(function.short)
        if function.owner is not None and function.short in ("__init__", "__new__"):
            owner = function.owner.name.rpartition(".")[2]
            names |= {owner, "cls"}
            names |= {each.name.rpartition(".")[2] for each in index.subclasses.get(owner, ())}
    return names
