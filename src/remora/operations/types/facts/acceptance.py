"""Checks that an annotation accepts values of a class that the code or a run has shown."""

import builtins
import collections
import collections.abc
import datetime
import io
import pathlib
import types
from collections.abc import Iterable

from remora.operations.types.source.project_index import Class, ProjectIndex, is_builtin
from remora.operations.types.source.terms import UNKNOWN, arguments_of, head_of, members_of, split
from remora.operations.types.writing.stdlib_names import STDLIB_MODULES

_ANYTHING = frozenset(("Any", "object", UNKNOWN, "Self", "Callable", "Protocol"))
_TOWER = {"float": ("int", "bool"), "complex": ("int", "float", "bool"), "int": ("bool",)}
_FILES: dict[str, tuple[type, ...]] = {
    "TextIO": (io.TextIOBase,),
    "BinaryIO": (io.RawIOBase, io.BufferedIOBase),
    "IO": (io.IOBase,),
}
_MODULES = (builtins, collections, collections.abc, io, pathlib, types, datetime)
STANDARD_MODULES = frozenset(each.__name__ for each in _MODULES)
_UNINFORMATIVE = frozenset(("object", "Callable", "Any", UNKNOWN))


def accepts(term: str, seen: str, index: ProjectIndex) -> bool:
    """Return True if values of the class or type `seen` fit the type `term`.

    Both are canonical, and `seen` is one member of a union. Classes about which nothing is known
    fit, except into built-in types.
    """
    return any(_fits(member, seen, index) for member in members_of(term))


def accepts_all(term: str, seen: Iterable[str], index: ProjectIndex) -> bool:
    """Return True if all members of some types fit the type `term`."""
    every = (member for each in seen for member in split(each, " | "))
    return all(accepts(term, member, index) for member in every)


def _fits(term: str, seen: str, index: ProjectIndex) -> bool:
    head, plain = head_of(term), head_of(seen)
    if head in _ANYTHING or plain in _UNINFORMATIVE:
        return True
    if head == plain:
        return _arguments_fit(arguments_of(term), arguments_of(seen), index, head=head)
    if head == "Literal":
        known = ("str", "int", "bytes", "bool", *arguments_of(term))
        return plain in known or plain in index.classes
    if head == "type" or plain == "type":
        return plain == head
    if plain in _TOWER.get(head, ()):
        return True
    return _is_subclass(plain, head, index)


def _arguments_fit(wanted: list[str], given: list[str], index: ProjectIndex, *, head: str) -> bool:
    if not wanted or not given or given == ["()"]:
        return True
    if head == "tuple" and wanted[-1] == "...":
        return all(accepts_all(wanted[0], [each], index) for each in given if each != "...")
    if head == "tuple" and given[-1] == "...":
        return all(accepts_all(each, [given[0]], index) for each in wanted)
    if head == "tuple" and len(wanted) != len(given):
        return False
    return all(accepts_all(one, [other], index) for one, other in zip(wanted, given, strict=False))


def _is_subclass(plain: str, head: str, index: ProjectIndex) -> bool:
    """Return True if a class is, or may be, a subclass of the class `head`."""
    abstract: type | tuple[type, ...] | None = _FILES.get(head)
    if head in collections.abc.__all__:
        abstract = getattr(collections.abc, head)
    known = _standard_class(plain)
    if known is not None and plain not in index.classes:
        if abstract is not None:
            return issubclass(known, abstract)
        if head in {each.__name__ for each in known.__mro__}:
            return True
        return not (_is_standard(head) or _is_nominal(head, index))
    own = index.classes.get(plain)
    if own is None:
        return not is_builtin(head)
    names = {each.name.rpartition(".")[2] for each in _family(own[0], index)}
    bases = {base for each in _family(own[0], index) for base in each.bases}
    if head in names | bases or abstract is not None:
        return True
    return bool(bases - set(index.classes) - {"ABC", "object", "Generic"}) or not (
        _is_nominal(head, index) or is_builtin(head)
    )


def _family(given: Class, index: ProjectIndex) -> list[Class]:
    return [given, *index.ancestors(given)]


def _standard_class(name: str) -> type | None:
    """Return a class of the standard library, or None."""
    if name == "None":
        return type(None)
    every = (getattr(module, name, None) for module in _MODULES)
    return next((each for each in every if isinstance(each, type)), None)


def is_foreign(name: str, index: ProjectIndex) -> bool:
    """Return True for a class of which nothing is known, such as one of another package."""
    known = name in index.classes or name in collections.abc.__all__
    return not known and _standard_class(name) is None


def _is_standard(name: str) -> bool:
    """Return True if a name is a class of the standard library that is not a protocol."""
    concrete = ("pathlib", "datetime", "decimal", "fractions", "re", "uuid", "logging", "enum")
    return is_builtin(name) or any(name in STDLIB_MODULES.get(each, ()) for each in concrete)


def _is_nominal(name: str, index: ProjectIndex) -> bool:
    """Return True if a name is a class of the project that other classes must inherit from."""
    own = index.classes.get(name, [])
    return len(own) == 1 and not any(
        {"Protocol", "TypedDict"} & set(each.bases) for each in _family(own[0], index)
    )
