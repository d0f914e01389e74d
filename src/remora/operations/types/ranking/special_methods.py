"""Parameters of special methods whose types follow from the language."""

from collections.abc import Mapping

from remora.operations.types.source.project_index import Function, ProjectIndex

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
