"""Types of methods that follow from their overrides or, for special methods, from the language."""

from collections.abc import Iterator, Mapping, Sequence

from remora.operations.types.facts.acceptance import accepts_all
from remora.operations.types.facts.evidence import Evidence, SlotKey, key_of
from remora.operations.types.source.project_index import Function, ProjectIndex
from remora.operations.types.source.slots import RETURN
from remora.operations.types.source.terms import is_known, members_of


def overrides_agree(
    function: Function,
    term: str,
    index: ProjectIndex,
    evidence: Mapping[SlotKey, Sequence[Evidence]],
) -> bool:
    """Return True if the methods that override a function are known to return the same type."""
    for method in overrides_of(function, index):
        known = evidence.get(key_of(method, RETURN), ())
        found = [one.term for one in known if one.source in ("returned", "yield")]
        found = [method.returns] if method.returns else found
        if any(not is_known(one) or not accepts_all(term, members_of(one), index) for one in found):
            return False
    return True


def overrides_of(function: Function, index: ProjectIndex) -> Iterator[Function]:
    """Yield the methods of all subclasses that override a method. Special methods have none."""
    if function.owner is None or function.short.startswith("__"):
        return
    names = [function.owner.name.rpartition(".")[2]]
    for base in names:
        for each in index.subclasses.get(base, ()):
            name = each.name.rpartition(".")[2]
            if name not in names:
                names.append(name)
            method = each.methods.get(function.short)
            if method is not None and method is not function:
                yield method


_KNOWN: Mapping[str, tuple[str, ...]] = {
    "__eq__": ("object",),
    "__ne__": ("object",),
    "__exit__": ("type[BaseException] | None", "BaseException | None", "TracebackType | None"),
    "__aexit__": ("type[BaseException] | None", "BaseException | None", "TracebackType | None"),
    "__getattr__": ("str",),
    "__delattr__": ("str",),
}


def special_parameter(function: Function, name: str, index: ProjectIndex) -> str:
    """Return the type of a parameter of a special method, or an empty string.

    It is empty if the project annotates such a parameter otherwise.
    """
    known = _KNOWN.get(function.short, ()) if function.owner is not None else ()
    names = [each.name for each in function.parameters if each.kind == "parameter"]
    if len(names) != len(known) or len(function.parameters) != len(known):
        return ""
    term = dict(zip(names, known, strict=True)).get(name, "")
    written = (
        dict(each.terms()).get(name) for each in index.functions[function.short] if each.owner
    )
    return term if all(each in (None, term) for each in written) else ""
