"""Dataflow between the names in a file.

A flow means that one name may hold the value of another. A name is a variable, attribute or
function anywhere in the file, and `f()` means the result of calling `f`. Scopes and types are
ignored, because flows only narrow down where to search.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from remora.code.ir import model as ir
from remora.code.ir.model import Binding, LoweredFile, has_tag

RESULT = "()"
_MAX_DEPTH = 12
MAX_RESULT_DEPTH = 3
PASS_THROUGH_FUNCTIONS = frozenset(
    (
        *("partial", "partialmethod", "list", "tuple", "set", "frozenset", "dict", "sorted"),
        *("reversed", "iter", "next", "min", "max", "enumerate", "zip", "filter", "deque"),
        *("defaultdict", "OrderedDict", "ChainMap", "chain", "cycle", "islice", "choice"),
        *("copy", "deepcopy", "cast", "lru_cache", "cache", "staticmethod", "classmethod"),
        *("property", "contextmanager", "asynccontextmanager", "singledispatch", "wraps"),
        *("run", "wait_for", "create_task", "ensure_future", "shield", "map"),
        *("WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "final", "no_type_check"),
        "abstractmethod",
    )
)
"""External functions whose result may be, or contain, an argument."""
_CONTAINER_METHODS = frozenset(
    (
        *("get", "pop", "setdefault", "popleft", "popitem", "values", "items", "copy"),
        *("fromkeys", "__getitem__", "__next__", "__iter__"),
    )
)
_UNWRAPPED: dict[int, tuple[str, ...]] = {
    ir.ELEMENT: ("__next__()", "__iter__()"),
    ir.STAR: ("__next__()", "__iter__()"),
    ir.ENTERED: ("__enter__()", "__aenter__()"),
    ir.ITEM: ("__getitem__()",),
    ir.AWAIT: (),
    ir.SLICE: (),
}
"""Maps term tags to methods whose result may be the value instead of the term's only operand."""


class NameFlow(NamedTuple):
    """A flow of the value of `term` to the name `target`.

    `term` is None if the flow does not need to be checked.
    """

    target: str
    scope: int
    at: int
    term: Any
    local: bool = False
    """True if `target` is visible only in this file."""


class NameFlows:
    """The flows of one file. Each index is built on first use."""

    def __init__(self, lowered: LoweredFile) -> None:
        self._lowered = lowered
        self._found: dict[str, list[NameFlow]] = {}

    @cached_property
    def by_name(self) -> dict[str, list[NameFlow]]:
        """Maps each name to the flows of its value to other names."""
        self._add_scopes()
        self._add_attributes()
        return self._found

    @cached_property
    def calls_by_name(self) -> dict[str, list[int]]:
        """Maps each name to the numbers of the calls that may call its value."""
        found: dict[str, list[int]] = {}
        for number, call in enumerate(self._lowered.calls):
            callee = call.callee
            if callee.__class__ is str:
                found.setdefault(callee, []).append(number)
            elif callee.__class__ is not int and callee is not None and callee[0] == ir.ATTRIBUTE:
                found.setdefault(callee[2], []).append(number)
            else:
                for name in self.names_in(callee):
                    found.setdefault(name, []).append(number)
        return found

    @cached_property
    def calls_by_argument(self) -> dict[str, list[int]]:
        """Maps each name to the numbers of the calls that may pass its value as an argument."""
        found: dict[str, list[int]] = {}
        for number in range(len(self._lowered.calls)):
            for name in self.argument_names(number):
                found.setdefault(name, []).append(number)
        return found

    def argument_names(self, number: int) -> set[str]:
        """Return the names whose values a call may pass as arguments."""
        call = self._lowered.calls[number]
        if call.implicit:
            return set()
        terms = (*call.args, *(term for _, term in call.keywords))
        return {name for term in terms for name in self._names(term, 0)}

    def calls_passing(self, functions: Iterable[str], name: str) -> Iterator[int]:
        """Yield the numbers of the calls that pass the value of `name` to one of `functions`."""
        for function in functions:
            for number in self.calls_by_name.get(function, ()):
                if name in self.argument_names(number):
                    yield number

    def _add_flow(self, to: str, scope: int, at: int, term: Any, *, local: bool = False) -> None:
        if term is None:
            return
        flow = NameFlow(to, scope, at, term, local)
        for name in self.names_in(term):
            if name != to:
                self._found.setdefault(name, []).append(flow)

    def _add_annotation(self, annotation: Any, target: str, *, local: bool = False) -> None:
        if annotation is None:
            return
        for name in self.names_in(annotation):
            self._found.setdefault(name + RESULT, []).append(NameFlow(target, 0, 0, None, local))

    def _add_scopes(self) -> None:
        known = frozenset(self._lowered.names)
        for number, scope in enumerate(self._lowered.scopes):
            own = scope.name or lambda_name(self._lowered.path, number)
            if f"property {own}" in known:
                self._found.setdefault(own + RESULT, []).append(NameFlow(own, 0, 0, None))
            local = scope.kind not in {ir.MODULE_SCOPE, ir.CLASS_SCOPE}
            for name, binds in scope.binds.items():
                for bind in binds:
                    self._add_bind(bind, name, local=local)
            for param in scope.params:
                self._add_flow(param.name, scope.parent, scope.at, param.default, local=True)
                self._add_annotation(param.annotation, param.name, local=True)
            for at, term in (*scope.results, *scope.yields):
                self._add_flow(own + RESULT, number, at, term)
            self._add_annotation(scope.annotation, own + RESULT)

    def _add_bind(self, bind: Binding, name: str, *, local: bool) -> None:
        if bind.kind == ir.IMPORT_FROM:
            if bind.extra != name:
                flow = NameFlow(name, 0, 0, None, local)
                self._found.setdefault(bind.extra, []).append(flow)
        elif bind.kind == ir.ANNOTATED:
            self._add_annotation(bind.term, name, local=local)
            self._add_flow(name, bind.scope, bind.at, bind.extra, local=local)
        elif bind.kind == ir.DEFINITION:
            self._add_flow(name, bind.scope, bind.at, bind.extra, local=local)
        elif bind.kind != ir.IMPORT:
            self._add_flow(name, bind.scope, bind.at, bind.term, local=local)

    def _add_attributes(self) -> None:
        for scope in self._lowered.scopes:
            for _, term in default_factories(self._lowered, scope):
                for name in self.names_in(term):
                    self._found.setdefault(name, []).append(NameFlow(scope.name, 0, 0, None))
        for store in self._lowered.stores:
            targets = self.names_in(store.base) if store.name == ir.REGISTERED else ()
            for target in (store.name, *sorted(targets)):
                self._add_flow(target, store.scope, store.at, store.term)
            self._add_annotation(store.annotation, store.name)
        for fill in self._lowered.fills:
            for base in sorted(self.names_in(fill.base)):
                self._add_flow(base, fill.scope, fill.at, fill.term)

    def names_in(self, term: Any) -> set[str]:
        """Return the names whose values `term` may refer to or contain."""
        return set(self._names(term, 0))

    def _names(self, term: Any, depth: int) -> Iterator[str]:
        if term is None or depth > _MAX_DEPTH:
            return
        if isinstance(term, str):
            yield term
        elif isinstance(term, int):
            yield from self._names_in_call(term, depth + 1)
        elif term[0] == ir.ATTRIBUTE:
            yield term[2]
        elif term[0] in _UNWRAPPED:
            yield from _UNWRAPPED[term[0]]
            yield from self._names(term[1], depth + 1)
        elif term[0] in {ir.EITHER, ir.GENERIC, ir.NARROWED}:
            for part in term[1:]:
                yield from self._names(part, depth + 1)
        else:
            yield from self._names_in_record(term, depth + 1)

    def _names_in_record(self, term: Any, depth: int) -> Iterator[str]:
        if term[0] == ir.CONTAINER:
            for item in self._lowered.containers[term[1]].items:
                yield from self._names(item, depth)
        elif term[0] == ir.PREFIX:
            yield ir.dispatch_name(term[1])
        elif term[0] == ir.INSTANCE:
            for name in self.names_in(term[1]):
                yield name + RESULT
        elif term[0] == ir.SCOPE:
            scope = self._lowered.scopes[term[1]]
            is_lambda = scope.kind == ir.LAMBDA_SCOPE
            yield lambda_name(self._lowered.path, term[1]) if is_lambda else scope.name

    def _names_in_call(self, number: int, depth: int) -> Iterator[str]:
        call = self._lowered.calls[number]
        callee = call.callee
        for term in call.args[1:] if callee == "getattr" else ():
            yield from (term[1],) if has_tag(term, ir.TEXT) else self._names(term, depth)
        is_method = (
            not isinstance(callee, str | int) and callee is not None and callee[0] == ir.ATTRIBUTE
        )
        if is_method and callee[2] in _CONTAINER_METHODS:
            yield from self._names(callee[1], depth)
            for term in call.args:
                yield from self._names(term, depth)
        for name in set(self._names(callee, depth)):
            if name.count(RESULT) < MAX_RESULT_DEPTH:
                yield name + RESULT
            if name.partition(RESULT)[0] in PASS_THROUGH_FUNCTIONS:
                for term in (*call.args, *(t for _, t in call.keywords)):
                    yield from self._names(term, depth)


def default_factories(lowered: LoweredFile, scope: ir.Scope) -> Iterator[tuple[int, Any]]:
    """Yield the (statement, term) of each `default_factory` of the fields of a class."""
    for bind in chain.from_iterable(scope.binds.values()):
        if scope.kind == ir.CLASS_SCOPE and bind.extra.__class__ is int:
            for keyword, term in lowered.calls[bind.extra].keywords:
                if keyword in {"default_factory", "factory"}:
                    yield bind.at, term


def lambda_name(path: str, scope: int) -> str:
    """Return a name for a lambda. It contains the file's path and is not a valid identifier."""
    return f"<{scope}>{path}"


def mentioned_name(name: str) -> str:
    """Return the identifier that a file must mention to use a flow name, or "" for a lambda."""
    plain = name.partition(RESULT)[0]
    return "" if plain.startswith("<") else plain


def lambda_file(name: str) -> str:
    """Return the path of the file that contains a lambda, given its flow name."""
    return name.partition(RESULT)[0].partition(">")[2]
