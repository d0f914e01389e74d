"""Which of the annotations found for sparsely annotated code are worth proposing together."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction

from remora.operations.types.source.project_index import Function, ProjectIndex
from remora.operations.types.source.slots import RETURN, Slot, is_overload
from remora.operations.types.source.terms import members_of, same

Terms = dict[tuple[str, Slot], str]

PLAIN = frozenset(("bool", "int", "float", "str", "bytes", "None"))
"""Types of which a property's setter takes the same values as the getter returns."""
GENERIC = frozenset(
    (
        *("value", "val", "values", "obj", "item", "items", "data", "arg", "x", "other", "node"),
        *("key", "default", "result", "element", "o", "v", "a", "b", "y", "z"),
    )
)
"""Names of parameters that say nothing about their type."""
_ENOUGH_IN_FILE, _ENOUGH = 3, 5
_ALL, _SHARE = Fraction(1), Fraction(1, 4)
"""The least number, or part, of a file's functions, and of those in all files without annotations."""
_ANNOTATED = Fraction(1, 2)
"""The part of the annotations above which a file or a project counts as annotated."""


class Signatures:
    """Leaves out annotations that would be scattered over code without annotations.

    In a file that is mostly annotated, or belongs to a project that is, every annotation completes
    what its authors began. Elsewhere a function is annotated if most of its signature is known, and
    a file if this is so for enough of its functions. If it is so for a quarter of them, the plain
    results of the others are written, too. Nested functions and special methods without parameters
    do not count.
    """

    def __init__(self, index: ProjectIndex) -> None:
        self._index = index
        written, total = _counts(index.every_function())
        self._is_annotated = written > total * _ANNOTATED
        self._sparse: dict[str, bool] = {}
        self._properties = {
            (each.path, each.number): pair
            for pair in properties_of(index.every_function())
            for each in pair
        }
        """Type checkers took a setter's values to have the getter's type for long."""

    def is_sparse(self, path: str) -> bool:
        """Return True for files whose functions mostly have no annotations, like the project's."""
        if path not in self._sparse:
            written, total = _counts(self._index.files[path].functions)
            is_annotated = self._is_annotated or written > total * _ANNOTATED
            self._sparse[path] = not is_annotated
        return self._sparse[path]

    def property_of(self, function: Function) -> tuple[Function, Function] | None:
        """Return the getter and the setter of the property that a function belongs to, or None."""
        return self._properties.get((function.path, function.number))

    def consistent(self, terms: Mapping[tuple[str, Slot], str]) -> Terms:
        """Return the annotations without those that would be scattered."""
        kept = self.complete(terms)
        counted = self._counted(kept)
        files = {path for path, _ in kept if not self.is_sparse(path)}
        sparse = [path for path in self._index.files if self.is_sparse(path)]
        if self._is_worth(sparse, counted, _ENOUGH, _SHARE):
            files |= {
                path for path in sparse if self._is_worth([path], counted, _ENOUGH_IN_FILE, _ALL)
            }
        return {key: term for key, term in kept.items() if key[0] in files}

    def complete(self, terms: Mapping[tuple[str, Slot], str]) -> Terms:
        """Return the annotations of functions whose signatures become complete enough."""
        names = _names(terms)
        kept = {
            key: term
            for key, term in terms.items()
            if not self.is_sparse(key[0])
            or _is_mostly_known(self._function(*key), names[key[0], key[1].number])
        }
        kept |= self._plain_results(terms, self._counted(kept))
        kept = {
            key: term
            for key, term in kept.items()
            if key[1].kind != "parameter"
            or self._is_begun(*key)
            or not _half_typed(self._function(*key), names[key[0], key[1].number])
        }
        return {key: term for key, term in kept.items() if self._fits_property(*key, kept)}

    def _is_begun(self, path: str, slot: Slot) -> bool:
        """Return True for functions of annotated code that have an annotation."""
        return not self.is_sparse(path) and any(self._function(path, slot).terms())

    def _plain_results(
        self, terms: Mapping[tuple[str, Slot], str], counted: Mapping[str, Collection[int]]
    ) -> Terms:
        """Return all plain results in sparse files of which a quarter of the functions count."""
        paths = set()
        for path, numbers in counted.items():
            done, total = self._done([path], counted)
            if len(numbers) >= _ENOUGH_IN_FILE and done >= total * _SHARE:
                paths.add(path)
        return {
            key: term
            for key, term in terms.items()
            if key[0] in paths and key[1].kind == RETURN and set(members_of(term)) <= PLAIN
        }

    def _counted(self, terms: Mapping[tuple[str, Slot], str]) -> dict[str, set[int]]:
        """Return the functions, by path, that have two of some annotations or all of theirs."""
        counted: dict[str, set[int]] = defaultdict(set)
        for (path, number), names in _names(terms).items():
            function = self._index.files[path].functions[number]
            if len(names) > 1 or not _missing(function, names):
                counted[path].add(number)
        return counted

    def _function(self, path: str, slot: Slot) -> Function:
        return self._index.files[path].functions[slot.number]

    def _is_worth(
        self,
        paths: Iterable[str],
        found: Mapping[str, Collection[int]],
        enough: int,
        share: Fraction,
    ) -> bool:
        """Return True if enough functions of some files have annotations with those found."""
        done, total = self._done(paths, found)
        return done > 0 and (done >= enough or done >= total * share)

    def _done(self, paths: Iterable[str], found: Mapping[str, Collection[int]]) -> tuple[int, int]:
        """Return the number of functions with annotations, and of all."""
        done = total = 0
        for path in paths:
            numbers = found.get(path, ())
            for each in self._index.files[path].functions:
                if not _is_trivial(each):
                    total += 1
                    done += each.number in numbers or any(each.terms())
        return done, total

    def _fits_property(self, path: str, slot: Slot, terms: Mapping[tuple[str, Slot], str]) -> bool:
        """Return False if the getter and the setter of a property would differ."""
        both = self._properties.get((path, slot.number))
        if both is None:
            return True
        getter, setter = both
        value = setter.parameters[0] if setter.parameters else None
        given = {
            (key[1].number, key[1].name): term for key, term in terms.items() if key[0] == path
        }
        shown = getter.returns or given.get((getter.number, RETURN), "")
        if value is None or (slot.number == setter.number and slot.name == RETURN):
            return slot.number == getter.number or bool(shown)
        taken = value.term or given.get((setter.number, value.name), "")
        if not taken:
            return set(members_of(shown)) <= PLAIN
        return bool(shown) and same(shown, taken)


def properties_of(functions: Iterable[Function]) -> Iterator[tuple[Function, Function]]:
    """Yield the getter of each property with its deleter, and after all of these with its setter."""
    getters: dict[tuple[str, str], Function] = {}
    setters: list[tuple[Function, Function]] = []
    for each in functions:
        getter = getters.get((each.path, each.name))
        for decorator in each.node.decorator_list:
            match decorator:
                case ast.Name(id="property"):
                    getters[each.path, each.name] = each
                case ast.Attribute(attr="deleter") if getter is not None:
                    yield getter, each
                case ast.Attribute(attr="setter") if getter is not None:
                    setters.append((getter, each))
    yield from setters


def _counts(functions: Iterable[Function]) -> tuple[int, int]:
    written = total = 0
    for each in functions:
        if not is_overload(each.node):
            written += len(dict(each.terms()))
            total += len(each.parameters) + 1
    return written, total


def _names(terms: Iterable[tuple[str, Slot]]) -> dict[tuple[str, int], set[str]]:
    """Return the names of slots by path and number of their function."""
    names: dict[tuple[str, int], set[str]] = defaultdict(set)
    for path, slot in terms:
        names[path, slot.number].add(slot.name)
    return names


def _missing(function: Function, found: Collection[str]) -> set[str]:
    """Return the slots without an annotation. Unknown `*args` and `**kwargs` do not count."""
    slots = {RETURN, *(each.name for each in function.parameters if each.kind == "parameter")}
    return slots - {*found, *dict(function.terms())}


def _is_mostly_known(function: Function, found: Collection[str]) -> bool:
    """Return True if half of the signature is known with its result, or all of its parameters.

    The result of a special method must be known.
    """
    missing = _missing(function, found)
    if RETURN in missing:
        return missing == {RETURN} and not _is_special(function)
    count = sum(each.kind == "parameter" for each in function.parameters) + 1
    return len(missing) * 2 <= count


def _half_typed(function: Function, found: Collection[str]) -> bool:
    """Return True if as many parameters stay without a type as have one.

    Those without a type whose names say nothing do not count, and of those with a default one.
    Parameters of a single letter are typed together.
    """
    missing = _missing(function, found) - {RETURN}
    own = [each.name for each in function.parameters if each.kind == "parameter"]
    letters = {name for name in own if len(name) == 1}
    if letters & missing and letters - missing:
        return True
    typed = sum(each.kind == "parameter" for each in function.parameters) - len(missing)
    bare = [each for each in function.parameters if each.name in missing - GENERIC]
    return len(bare) - any(each.default for each in bare) >= typed


def _is_trivial(function: Function) -> bool:
    """Return True for nested functions, `f(*args)`, and special methods such as `__len__`."""
    is_nested = function.owner is None and "." in function.name
    has_own = any(each.kind == "parameter" for each in function.parameters)
    return is_nested or (not has_own and (_is_special(function) or bool(function.parameters)))


def _is_special(function: Function) -> bool:
    return function.short.startswith("__") and function.short.endswith("__")
