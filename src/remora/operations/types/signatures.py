"""Choice of the annotations found for a project that are worth proposing together.

AI readers of proposals reject `def flake(self, message) -> None` in code without annotations. The
rules:

- a signature is written whole or not at all;
- a method is written with its overrides and siblings, with the same types, or not at all;
- a property's getter and setter have the same type;
- a file that would get nothing but `-> None` is left alone;
- annotations are not scattered over code that has none.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.judges.types.accepted_annotations import Terms
from remora.judges.types.project_index import Function, ProjectIndex, is_builtin
from remora.judges.types.slots import RETURN, Slot, is_overload
from remora.judges.types.terms import members_of, same

FunctionKey = tuple[str, int]
"""The path and the number of a function."""
_Found = dict[FunctionKey, dict[str, str]]
"""The types found for a function, by parameter, or `return` for the result."""

PLAIN = frozenset(("bool", "int", "float", "str", "bytes", "None"))
"""Types of which a property's setter takes the same values as the getter returns."""
_ENOUGH, _SHARE = 3, Fraction(1, 4)
"""Number or part of a file's functions that need annotations: from readings, not measured."""
_ANNOTATED = Fraction(1, 2)
"""The part of the annotations above which a file or a project counts as annotated."""
_UNRELATED = frozenset(("ABC", "Enum", "Generic", "NamedTuple", "Protocol", "TypedDict"))
"""Base classes that do not make the methods of their subclasses siblings."""


class Signatures:
    """Leaves out annotations that AI readers reject if they are proposed alone.

    In a file that is mostly annotated, or belongs to a project that is, every whole signature
    completes what its authors began, as everywhere do those with some annotations that lack more
    than `-> None`. Other files need three of them, or a quarter. Nested functions and special methods
    without parameters do not count.
    """

    def __init__(self, index: ProjectIndex, *, omits_kwargs: bool = False) -> None:
        self._index = index
        self.omits_kwargs = omits_kwargs
        written, total = _counts(index.every_function())
        self._is_annotated = written > total * _ANNOTATED
        self._sparse: dict[str, bool] = {}
        self._families = _families(index)
        self._slots: dict[FunctionKey, set[str]] = defaultdict(set)
        """The annotations that a function lacks, without those that annotated code leaves out."""
        for path, file in index.files.items():
            for slot in file.source.slots:
                if self.is_sparse(path) or not self.omits(slot):
                    self._slots[path, slot.number].add(slot.name)
        self._properties = {
            _key(method): pair for pair in properties_of(index.every_function()) for method in pair
        }
        """Type checkers took a setter's values to have the getter's type for long."""

    def omits(self, slot: Slot) -> bool:
        """Return True if the project leaves out annotations like this one."""
        return slot.kind == "kwargs" and self.omits_kwargs

    def is_sparse(self, path: str) -> bool:
        """Return True for files whose functions mostly have no annotations, like the project's."""
        if path not in self._sparse:
            written, total = _counts(self._index.files[path].functions)
            is_annotated = self._is_annotated or written > total * _ANNOTATED
            self._sparse[path] = not is_annotated
        return self._sparse[path]

    def property_of(self, function: Function) -> tuple[Function, Function] | None:
        """Return the getter and the setter of the property that a function belongs to, or None."""
        return self._properties.get(_key(function))

    def consistent(self, terms: Mapping[tuple[str, Slot], str]) -> Terms:
        """Return the annotations that are worth proposing together."""
        found = self._complete(terms, self._index.files)
        more = {key for key, types in found.items() if types != {RETURN: "None"}}
        begun = {key for key in more if any(self._index.files[key[0]].functions[key[1]].terms())}
        files = {path for path, _ in more}
        files = {path for path in files if not self.is_sparse(path) or self._is_worth(path, found)}
        return {
            (path, slot): term
            for (path, slot), term in terms.items()
            if (path, slot.number) in found
            if path in files or (path, slot.number) in begun
        }

    def complete(self, terms: Mapping[tuple[str, Slot], str]) -> Terms:
        """Return the annotations of whole signatures, by what is found for the same files."""
        found = self._complete(terms, {path for path, _ in terms})
        return {key: term for key, term in terms.items() if (key[0], key[1].number) in found}

    def _complete(self, terms: Mapping[tuple[str, Slot], str], paths: Collection[str]) -> _Found:
        """Return the signatures that become whole, like those of related methods in `paths`."""
        found: _Found = defaultdict(dict)
        for (path, slot), term in terms.items():
            found[path, slot.number][slot.name] = term
        while odd := {
            *(key for key in found if not self._is_whole(key, found)),
            *(key for key in found if not self._fits_property(key, found)),
            *(key for family in self._families for key in self._unlike(family, found, paths)),
        }:
            found = {key: types for key, types in found.items() if key not in odd}
        return found

    def _is_whole(self, key: FunctionKey, found: _Found) -> bool:
        return self._slots.get(key, set()) <= found.get(key, {}).keys()

    def _unlike(
        self, family: Sequence[FunctionKey], found: _Found, paths: Collection[str]
    ) -> set[FunctionKey]:
        """Return the methods of a family in `found` if others lack types, or have other ones."""
        own = [key for key in family if key[0] in paths]
        new = {key for key in own if key in found}
        if not new:
            return set()
        seen: dict[str, str] = {}
        is_alike = all(
            name == RETURN or same(seen.setdefault(name, term), term)
            for key in own
            for name, term in self._types(key, found).items()
        )
        return set() if is_alike and all(self._is_whole(key, found) for key in own) else new

    def _types(self, key: FunctionKey, found: _Found) -> dict[str, str]:
        path, number = key
        return dict(self._index.files[path].functions[number].terms()) | found.get(key, {})

    def _is_worth(self, path: str, found: Collection[FunctionKey]) -> bool:
        """Return True if enough functions of a file would have annotations."""
        every = self._index.files[path].functions
        own = [function for function in every if not _is_trivial(function)]
        done = sum(_key(function) in found or any(function.terms()) for function in own)
        return done >= _ENOUGH or (done > 0 and done >= len(own) * _SHARE)

    def _fits_property(self, key: FunctionKey, found: _Found) -> bool:
        """Return False if the getter and the setter of a property would differ."""
        both = self._properties.get(key)
        if both is None:
            return True
        getter, setter = both
        shown = self._types(_key(getter), found).get(RETURN, "")
        if not setter.parameters:
            return key == _key(getter) or bool(shown)
        taken = self._types(_key(setter), found).get(setter.parameters[0].name, "")
        if not taken:
            return set(members_of(shown)) <= PLAIN
        return bool(shown) and same(shown, taken)


def _families(index: ProjectIndex) -> list[list[FunctionKey]]:
    """Return the methods that have the same name in the subclasses of a class, and in the class.

    Special methods and those of tests have no family.
    """
    families: dict[tuple[str, str], list[FunctionKey]] = defaultdict(list)
    for file in index.files.values():
        for given in file.classes.values() if not is_of_tests(file.path) else ():
            line = [given, *index.ancestors(given)]
            names = {
                given.name.rpartition(".")[2],
                *(base for owner in line for base in owner.bases),
            }
            related = [name for name in names - _UNRELATED if not is_builtin(name)]
            for short, method in given.methods.items():
                for name in related if not _is_special(method) else ():
                    families[name, short].append(_key(method))
    return [family for family in families.values() if len(family) > 1]


def properties_of(functions: Iterable[Function]) -> Iterator[tuple[Function, Function]]:
    """Yield the getter of each property with its deleter, and after all of these with its setter."""
    getters: dict[tuple[str, str], Function] = {}
    setters: list[tuple[Function, Function]] = []
    for function in functions:
        getter = getters.get((function.path, function.qualname))
        for decorator in function.node.decorator_list:
            match decorator:
                case ast.Name(id="property"):
                    getters[function.path, function.qualname] = function
                case ast.Attribute(attr="deleter") if getter is not None:
                    yield getter, function
                case ast.Attribute(attr="setter") if getter is not None:
                    setters.append((getter, function))
    yield from setters


def _counts(functions: Iterable[Function]) -> tuple[int, int]:
    written = total = 0
    for function in functions:
        if not is_overload(function.node):
            written += len(dict(function.terms()))
            total += len(function.parameters) + 1
    return written, total


def _is_trivial(function: Function) -> bool:
    """Return True for nested functions, `f(*args)`, and special methods such as `__len__`."""
    is_nested = function.owner is None and "." in function.qualname
    has_own = any(parameter.kind == "parameter" for parameter in function.parameters)
    return is_nested or (not has_own and (_is_special(function) or bool(function.parameters)))


def _is_special(function: Function) -> bool:
    return function.name.startswith("__") and function.name.endswith("__")


def _key(function: Function) -> FunctionKey:
    return function.path, function.number
