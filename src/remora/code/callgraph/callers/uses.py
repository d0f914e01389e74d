"""Uses of a node other than calls: by subclasses, overriders, library calls and plain references.

`Thread(target=f)` may call `f`, so the function around it is a user of kind `passed to`. The module
of `ROUTES = {"a": f}` has a `reference`. Uses are found by name. Only code outside the project, or
unknown code, is passed a node: code of the project that calls its argument is a caller.
"""

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EXACT, INFERRED, POSSIBLE, Value
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.names import call_targets
from remora.code.callgraph.names.call_targets import CALLER_LEVELS, hashable, term_values
from remora.code.callgraph.names.name_candidates import EXTERNAL_METHOD_NAMES, methods_named
from remora.code.callgraph.names.search_scope import MAX_CALLER_FILES, SearchScope
from remora.code.ir import model as ir
from remora.code.ir.model import ATTRIBUTE, FUNCTION_SCOPE, has_tag, unqualified_name
from remora.code.links import Kind
from remora.ids import node_key

_ONLY_LOOKING = frozenset(("builtins", "typing", "typing_extensions", "inspect", "copy", "abc"))
"""Modules whose functions do not call their arguments, but for `CALLBACK_ARGUMENTS`."""
_ONLY_WRAPPING = sys.stdlib_module_names - {"atexit"} | {"pytest", *_ONLY_LOOKING}
"""Modules whose decorators register nothing that a program calls later."""
_KEEPING = frozenset(name for kind in (list, dict, set, deque) for name in dir(kind)) - {"sort"}
"""Methods of containers, which only keep or compare their arguments."""
_OUTSIDE = frozenset((kinds.EXTERNAL, kinds.OPAQUE))
_IMPORTS = frozenset((ir.IMPORT, ir.IMPORT_FROM))
Use = tuple[Kind, str, int, int]
"""Kind, key of the other node, tier, and line or 0."""


class Place(NamedTuple):
    """A place that may use a name, and the question for the values that it uses.

    Three are not for the solver: `decorator` (call and decorated scope), `method`, and `constant`
    (scope, statement, and term of the class or module that assigns it, or None if imported).
    """

    name: str
    scope: int
    at: int
    line: int
    question: tuple[Any, ...]


class UseSearch:
    """Finds uses by their user, or by what is used. Both give the same uses.

    `search_scope` selects the files that are searched for a node.
    """

    def __init__(
        self, ctx: Context, search_scope: Callable[[IndexedFile, int], SearchScope]
    ) -> None:
        self._ctx = ctx
        self._search_scope = search_scope

    def uses(self, file: IndexedFile, qualname: str) -> Iterator[Use]:
        """Yield the uses by a node, each with the key of what is used."""
        for place in _indexed(file)[1].get(qualname, ()):
            defined = (self._ctx.is_common(f"def {n}", 0) for n in _names(file, place.name))
            if place.question[0] == "constant" or any(defined):
                for kind, key, tier in self._uses_at(file, place):
                    yield kind, key, tier, place.line

    def users(self, file: IndexedFile, number: int) -> Iterator[Use]:
        """Yield the uses of a node, each with the key of its user."""
        scope, wanted = file.scopes[number], _key(file, number)
        files = self._search_scope(file, number).caller_files(scope.name, own=True)
        near = [(p, scope.name) for p in ([file.path] if file.is_local(number) else files)]
        if scope.kind != FUNCTION_SCOPE:
            names = [name for name, binds in scope.binds.items() if _is_constant(binds)]
            near += [(path, name) for name in names for path in self._ctx.mentioning(name)]
        for other, name in ((self._ctx.file(path), name) for path, name in near):
            if other is not None:
                for place in _indexed(other)[0].get(name, ()):
                    for kind, key, tier in self._uses_at(other, place):
                        if key == wanted:
                            yield kind, _key(other, place.scope), tier, place.line

    def _uses_at(self, file: IndexedFile, place: Place) -> Iterator[tuple[Kind, str, int]]:
        """Yield the kind, key and tier of each use at a place."""
        rules = {
            "decorator": self._registered,
            "method": self._overridden,
            "constant": self._assigned,
        }
        return rules.get(place.question[0], self._named)(file, place)

    def _registered(self, file: IndexedFile, place: Place) -> Iterator[tuple[Kind, str, int]]:
        _, call, number = place.question
        if self._passes_on(file, call, place.name, _ONLY_WRAPPING):
            yield "passed to", _key(file, number), EXACT

    def _overridden(self, file: IndexedFile, place: Place) -> Iterator[tuple[Kind, str, int]]:
        own: Value = (kinds.CLASS, file.path, file.scopes[place.scope].parent)
        order = (value for value, _ in self._ctx.solve(("mro", *own[1:])))
        paths = set(self._ctx.mentioning("class (Protocol"))  # which need not be inherited
        paths.intersection_update(self._ctx.mentioning(f"def {place.name}"))
        near = map(self._ctx.interface_file, paths)
        protocols = [(kinds.CLASS, home.path, n) for home in near if home for n in home.classes]
        for value in (*order, *protocols):
            base = self._ctx.scope_file(*value[1:]) if value[0] == kinds.CLASS else None
            for binding in base.exported(value[2], place.name) if base and value != own else ():
                known = dict(self._ctx.solve(("derived", *value[1:])))
                method = base.definition(binding) if base and own in known else None
                if base and method and base.scopes[method].kind == FUNCTION_SCOPE:
                    yield "override", _key(base, method), known[own]

    def _assigned(self, file: IndexedFile, place: Place) -> Iterator[tuple[Kind, str, int]]:
        """Yield the modules and classes that assign what a place reads."""
        _, scope, at, base = place.question
        name, star = place.name, self._ctx.star_sources
        if base is None:
            binds = (bind for inner in file.scopes for bind in inner.binds.get(name, ()))
            names = [(bind.term, bind.extra) for bind in binds if bind.kind == ir.IMPORT_FROM]
            found = [(self._ctx.resolve_import(file.path, *term), n) for term, n in names]
            found += [((kinds.MODULE, path), name) for path in star(file.path, name)]
        else:
            values = term_values(self._ctx, (file.path, scope, at), base)
            found = [(value, name) for value, _ in values]
        for owner, assigned in found:
            if owner is not None and owner[0] in {kinds.MODULE, kinds.CLASS}:
                home, number = self._ctx.interface_file(owner[1]), (*owner, 0)[2]
                if home and _is_constant(home.scopes[number].binds.get(assigned, ())):
                    yield "constant", _key(home, number), INFERRED

    def _named(self, file: IndexedFile, place: Place) -> Iterator[tuple[Kind, str, int]]:
        """Yield the uses of the functions and classes that have the name of a place."""
        found: dict[Value, int] = {}
        for value, tier in self._ctx.solve(place.question):
            for inner in (value, *value[1:2]):
                if inner.__class__ is tuple and inner[0] in {kinds.FUNCTION, kinds.CLASS}:
                    found[inner] = min(tier, found.get(inner, tier))
        for value, tier in found.items():
            home = self._ctx.definition_file(*value[1:])
            is_found = home is not None and self._is_found_by(file, place.name, home, value[2])
            if home is not None and is_found and (kind := self._kind(file, place, value)):
                yield kind, _key(home, value[2]), tier
        possible = self._possible(file, place) if not found else ()
        if possible and (kind := self._kind(file, place, (kinds.FUNCTION,))):
            yield from ((kind, key, POSSIBLE) for key in possible)

    def _kind(self, file: IndexedFile, place: Place, value: Value) -> Kind | None:
        """Return the kind of use, or None for a call, and for what a subclass writes."""
        if place.question[0] == "bases":
            return "inherit"
        is_called = bool(_calls_at(file, place, file.flows.calls_by_name))
        if value[0] == kinds.CLASS:
            made = ("class_attribute", 0, *value[1:], "__init__")
            is_called = is_called and not self._ctx.solve(made)  # the call is of the constructor
            at = (
                n for n in file.classes if (file.scopes[n].parent, file.scopes[n].at) == place[1:3]
            )
            orders = (self._ctx.solve(("bases", file.path, number)) for number in at)
            if any(value in dict(bases) for bases in orders):
                return None
        passing = _calls_at(file, place, file.flows.calls_by_argument)
        if any(self._passes_on(file, n, place.name, _ONLY_LOOKING) for n in passing):
            return "passed to"
        return None if is_called else "reference"

    def _possible(self, file: IndexedFile, place: Place) -> list[str]:
        """Return the methods that an attribute of an unknown value may be."""
        name, term = place.name, place.question[-1]
        common = name in EXTERNAL_METHOD_NAMES or self._ctx.is_common(name, MAX_CALLER_FILES)
        if place.question[0] != "term" or not has_tag(term, ATTRIBUTE) or common:
            return []
        methods = methods_named(self._ctx, name)
        known = term_values(self._ctx, (file.path, *place[1:3]), term[1]) if methods else ()
        is_unknown = all(call_targets.is_unknown(value, name) for value, _ in known)
        return [key for key, _ in methods] if is_unknown else []

    def _is_found_by(self, file: IndexedFile, name: str, home: IndexedFile, number: int) -> bool:
        """Return True if a file is searched for a definition under this name."""
        own = home.scopes[number].name
        if own not in _names(file, name):
            return False
        if home.is_local(number):
            return home is file
        return self._search_scope(home, number).is_caller_file(file.path, own, own=True)

    def _passes_on(
        self, file: IndexedFile, number: int, name: str, passive: frozenset[str]
    ) -> bool:
        """Return True if a call may call an argument `name` outside the project, or later."""
        call, names_in = file.lowered.calls[number], file.flows.names_in
        point, term = (file.path, call.scope, call.at), call.callee
        arguments = [*enumerate(call.args), *call.keywords]
        places = [place for place, value in arguments if name in names_in(value)]
        if values := term_values(self._ctx, point, term):
            method = unqualified_name(term)
            return any(_calls_argument(v, method, places, passive) for v, _ in values)
        while isinstance(term, int):
            term = file.lowered.calls[term].callee
        is_kept = unqualified_name(term) in _KEEPING
        base = term[1] if has_tag(term, ATTRIBUTE) else None
        known = term_values(self._ctx, point, base)
        return not is_kept and all(value[0] in _OUTSIDE for value, _ in known)


def _key(file: IndexedFile, number: int) -> str:
    return node_key(file.path, file.scopes[number].qualname)


def _names(file: IndexedFile, name: str) -> list[str]:
    """Return a name, and the names that the file imports under it."""
    return [name, *(own for own, aliases in file.aliases.items() if name in aliases)]


def _is_constant(binds: Collection[ir.Binding]) -> bool:
    return bool(binds) and all(bind.kind not in {ir.DEFINITION, *_IMPORTS} for bind in binds)


def _calls_at(file: IndexedFile, place: Place, by_name: Mapping[str, list[int]]) -> list[int]:
    """Return those of the calls of a name that are in the statement of a place."""
    calls = file.lowered.calls
    return [n for n in by_name.get(place.name, ()) if (calls[n].scope, calls[n].at) == place[1:3]]


def _imported(file: IndexedFile) -> set[str]:
    named = chain.from_iterable(scope.binds.items() for scope in file.scopes)
    return {name for name, binds in named if any(bind.kind in _IMPORTS for bind in binds)}


@lru_cache(maxsize=1)  # a file is asked for all its nodes in turn
def _indexed(file: IndexedFile) -> tuple[dict[str, list[Place]], dict[str, list[Place]]]:
    """Return the places of a file by name, and by the qualname of the node that has them."""
    by_name: dict[str, list[Place]] = {}
    by_owner: dict[str, list[Place]] = {}
    for place in chain(_places(file), _definitions(file)):
        by_owner.setdefault(file.scopes[place.scope].qualname, []).append(place)
        for name in _names(file, place.name):
            by_name.setdefault(name, []).append(place)
    return by_name, by_owner


def _places(file: IndexedFile) -> Iterator[Place]:
    """Yield the places that use a name, with the calls of it: a class may have a constructor.

    A constant that is a default, or an argument of a decorator, is read by the function.
    """
    level, path, lowered = CALLER_LEVELS, file.path, file.lowered
    made = {(scope.parent, scope.at): n for n, scope in reversed([*enumerate(file.scopes)])}
    imported = _imported(file)
    for name, at in ((name, at) for name, places in lowered.loads.items() for at in places):
        yield Place(name, *at, ("term", level, path, *at[:2], name))
        if name in imported or lowered.stars:
            yield Place(name, made.get(at[:2], at[0]), *at[1:], ("constant", *at[:2], None))
    for read in lowered.reads:
        at, name, base = (read.scope, read.at, read.line), read.term[2], hashable(read.term[1])
        yield Place(name, *at, ("term", level, path, *at[:2], hashable(read.term)))
        if not isinstance(base, str) or base in imported or base in file.scopes[0].binds:
            yield Place(name, made.get(at[:2], at[0]), *at[1:], ("constant", *at[:2], base))
    calls = file.flows.calls_by_name
    for name, number in ((name, n) for name, numbers in calls.items() for n in numbers):
        if not (call := lowered.calls[number]).implicit:
            yield Place(name, call.scope, call.at, call.line, ("callee", level, path, number))


def _definitions(file: IndexedFile) -> Iterator[Place]:
    """Yield the headers of definitions, with bases, methods and decorators, and what is exported."""
    used = {*file.lowered.loads, *file.flows.calls_by_name, *file.reads_by_name}
    exported = {*(file.lowered.exports or ()), *(_imported(file) - used)}
    for name in exported.intersection(file.scopes[0].binds):
        yield Place(str(name), 0, -1, 0, ("export", 0, file.path, name))
    for number in file.nodes.values():
        scope = file.scopes[number]
        for call in scope.decorators:
            made = file.lowered.calls[call]
            at = made.scope, made.at, made.line
            yield Place(scope.name, *at, ("decorator", call, number))
        for name in {*map(file.term_name, scope.bases)}:
            yield Place(name, number, -1, scope.line, ("bases", file.path, number))
        owner = file.owner_class(number)
        bound = () if owner is None else file.exported(owner, scope.name)
        if number in map(file.definition, bound):
            yield Place(scope.name, number, -1, scope.line, ("method",))


def _calls_argument(
    value: Value, name: str, places: list[int | str | None], passive: frozenset[str]
) -> bool:
    """Return True if a call of `value` by a name may call the argument at one of the places."""
    if value[0] == kinds.CONTAINER_METHOD:
        return name == "sort" and "key" in places
    if value[0] not in _OUTSIDE or (value[0] == kinds.OPAQUE and name in _KEEPING):
        return False
    dotted = value[1] if value[1:] else ""
    if dotted in call_targets.CALLBACK_ARGUMENTS:
        return call_targets.CALLBACK_ARGUMENTS[dotted] in places
    return dotted.partition(".")[0] not in passive
