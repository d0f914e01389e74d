"""Annotations that do not accept a value which a function was seen to take or return."""

import re
from collections.abc import Iterator, Mapping

from remora.hub.node import ObservedValues
from remora.operations.types.facts.acceptance import STANDARD_MODULES, accepts_all
from remora.operations.types.facts.collection import node_keys
from remora.operations.types.source.project_index import File, ProjectIndex
from remora.operations.types.source.slots import RETURN
from remora.operations.types.source.terms import canonical, from_checker, names_in
from remora.tools.host.module_names import module_name

_CLASS = re.compile(r"[^\W\d][\w.]*")
_UNSURE = frozenset(("type", "NotImplementedType", "bytearray", "memoryview"))
"""Classes whose values other annotations may mean, too."""


def contradictions(texts: Mapping[str, str], seen: Mapping[str, ObservedValues]) -> Iterator[str]:
    """Yield such as `x.py: f(path: str) is given tuple`. Generators are left out."""
    index = ProjectIndex(texts)
    for file in index.files.values():
        for key, number in node_keys(file).items():
            values, function = seen.get(key, ObservedValues()), file.functions[number]
            for name, term in function.terms() if not values.yields else ():
                given = values.returns if name == RETURN else values.parameters.get(name, ())
                said = f"({name}: {term}) {'returns' if name == RETURN else 'is given'}"
                wrong = (kind for kind in given if _is_refused(term, kind, file, index))
                yield from (f"{file.path}: {function.name}{said} {kind}" for kind in wrong)


def _is_refused(term: str, kind: str, file: File, index: ProjectIndex) -> bool:
    """Return True if a type surely does not accept a value. An assigned name may be any type."""
    is_any = any(
        name in file.bindings or (name in file.imports and name in index.aliases)
        for name in names_in(term)
    )
    if is_any or not all(_is_known(name, index) for name in _CLASS.findall(kind)):
        return False
    return not accepts_all(term, [from_checker(kind)], index)


def _is_known(name: str, index: ProjectIndex) -> bool:
    """Return True for a built-in class, and for the only class of a name in the project."""
    module, _, short = name.rpartition(".")
    if not module or module in STANDARD_MODULES:
        return short not in _UNSURE
    found = [f"{module_name(each.path)}.{each.name}" for each in index.classes.get(short, ())]
    return found == [name] and canonical(short) == short
