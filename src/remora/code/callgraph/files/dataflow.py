"""Which names of a file carry the value of which others, whatever that value is.

A name stands for a variable, an attribute or a function, wherever it is; `f()` stands for what a
call of it gives. This knows nothing of scopes or types: it only narrows down where to look.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from remora.code.ir.model import (
    ANNOTATED,
    ATTRIBUTE,
    AWAIT,
    CLASS_SCOPE,
    CONTAINER,
    DECLARED,
    DEFINITION,
    EITHER,
    ELEMENT,
    ENTERED,
    GENERIC,
    IMPORT,
    IMPORT_FROM,
    INSTANCE,
    ITEM,
    LAMBDA_SCOPE,
    MODULE_SCOPE,
    SCOPE,
    SLICE,
    STAR,
    TEXT,
    Binding,
    LoweredFile,
)

RESULT = "()"
_DEEPEST = 12
MOST_RESULTS = 3
HANDING_ON = frozenset(
    [
        "partial",
        "partialmethod",
        "list",
        "tuple",
        "set",
        "frozenset",
        "dict",
        "sorted",
        "reversed",
        "iter",
        "next",
        "min",
        "max",
        "enumerate",
        "zip",
        "filter",
        "deque",
        "defaultdict",
        "OrderedDict",
        "ChainMap",
        "chain",
        "cycle",
        "islice",
        "choice",
        "copy",
        "deepcopy",
        "cast",
        "lru_cache",
        "cache",
        "staticmethod",
        "classmethod",
        "property",
        "contextmanager",
        "asynccontextmanager",
        "singledispatch",
        "wraps",
        "run",
        "wait_for",
        "create_task",
        "ensure_future",
        "shield",
        "map",
        "WeakKeyDictionary",
        "WeakValueDictionary",
        "WeakSet",
        "final",
        "no_type_check",
        "abstractmethod",
    ]
)
"""Functions of the outside whose result may be, or hold, what they are given."""
_HELD = frozenset(
    [
        "get",
        "pop",
        "setdefault",
        "popleft",
        "popitem",
        "values",
        "items",
        "copy",
        "fromkeys",
        "__getitem__",
        "__next__",
        "__iter__",
    ]
)
_STRIPPED: dict[int, tuple[str, ...]] = {
    ELEMENT: ("__next__()", "__iter__()"),
    STAR: ("__next__()", "__iter__()"),
    ENTERED: ("__enter__()", "__aenter__()"),
    ITEM: ("__getitem__()",),
    AWAIT: (),
    SLICE: (),
}
"""What may be inside of a value, and whose results give it instead."""


class Flow(NamedTuple):
    """A term whose value gets another name; `term` is null where that needs no proof."""

    target: str
    scope: int
    at: int
    term: Any
    local: bool = False
    """Whether only this file can see the new name."""


class Flows:
    """The flows of one file; each index is made when it is first asked for."""

    def __init__(self, lowered: LoweredFile) -> None:
        self._lowered = lowered
        self._found: dict[str, list[Flow]] = {}

    @cached_property
    def targets(self) -> dict[str, list[Flow]]:
        """Name → where its value gets another one."""
        self._scopes()
        self._attributes()
        return self._found

    @cached_property
    def called(self) -> dict[str, list[int]]:
        """Name → calls of its value."""
        found: dict[str, list[int]] = {}
        for number, call in enumerate(self._lowered.calls):
            callee = call.callee
            if callee.__class__ is str:
                found.setdefault(callee, []).append(number)
            elif callee.__class__ is not int and callee is not None and callee[0] == ATTRIBUTE:
                found.setdefault(callee[2], []).append(number)
            else:
                for name in self.names(callee):
                    found.setdefault(name, []).append(number)
        return found

    @cached_property
    def passed(self) -> dict[str, list[int]]:
        """Name → calls that have its value among their arguments."""
        found: dict[str, list[int]] = {}
        for number in range(len(self._lowered.calls)):
            for name in self.given(number):
                found.setdefault(name, []).append(number)
        return found

    def given(self, number: int) -> set[str]:
        """Names of the values among the arguments of a call."""
        call = self._lowered.calls[number]
        if call.implicit:
            return set()
        terms = (*call.args, *(term for _, term in call.keywords))
        return {name for term in terms for name in self._names(term, 0)}

    def passed_to(self, functions: Iterable[str], name: str) -> Iterator[int]:
        """Calls that hand the value to a function with one of these names."""
        for function in functions:
            for number in self.called.get(function, ()):
                if name in self.given(number):
                    yield number

    def _flow(self, target: str, scope: int, at: int, term: Any, *, local: bool = False) -> None:
        if term is None:
            return
        flow = Flow(target, scope, at, term, local)
        for name in self.names(term):
            if name != target:
                self._found.setdefault(name, []).append(flow)

    def _promise(self, annotation: Any, target: str, *, local: bool = False) -> None:
        if annotation is None:
            return
        for name in self.names(annotation):
            self._found.setdefault(name + RESULT, []).append(Flow(target, 0, 0, None, local))

    def _scopes(self) -> None:
        known = frozenset(self._lowered.names)
        for number, scope in enumerate(self._lowered.scopes):
            own = scope.name or lambda_name(self._lowered.path, number)
            if f"property {own}" in known:
                self._found.setdefault(own + RESULT, []).append(Flow(own, 0, 0, None))
            local = scope.kind not in {MODULE_SCOPE, CLASS_SCOPE}
            for name, binds in scope.binds.items():
                for bind in binds:
                    self._bound(bind, name, local=local)
            for param in scope.params:
                self._flow(param.name, scope.parent, scope.at, param.default, local=True)
                self._promise(param.annotation, param.name, local=True)
            for at, term in (*scope.results, *scope.yields):
                self._flow(own + RESULT, number, at, term)
            self._promise(scope.annotation, own + RESULT)

    def _bound(self, bind: Binding, name: str, *, local: bool) -> None:
        if bind.kind == IMPORT_FROM:
            if bind.extra != name:
                flow = Flow(name, 0, 0, None, local)
                self._found.setdefault(bind.extra, []).append(flow)
        elif bind.kind == ANNOTATED:
            self._promise(bind.term, name, local=local)
            self._flow(name, bind.scope, bind.at, bind.extra, local=local)
        elif bind.kind == DEFINITION:
            self._flow(name, bind.scope, bind.at, bind.extra, local=local)
        elif bind.kind != IMPORT:
            self._flow(name, bind.scope, bind.at, bind.term, local=local)

    def _attributes(self) -> None:
        for store in self._lowered.stores:
            self._flow(store.name, store.scope, store.at, store.term)
            self._promise(store.annotation, store.name)
        for fill in self._lowered.fills:
            for base in sorted(self.names(fill.base)):
                self._flow(base, fill.scope, fill.at, fill.term)

    def names(self, term: Any) -> set[str]:
        """The names whose value `term` may have or hold."""
        return set(self._names(term, 0))

    def _names(self, term: Any, depth: int) -> Iterator[str]:
        if term is None or depth > _DEEPEST:
            return
        if isinstance(term, str):
            yield term
        elif isinstance(term, int):
            yield from self._of_call(term, depth + 1)
        elif term[0] == ATTRIBUTE:
            yield term[2]
        elif term[0] in _STRIPPED:
            yield from _STRIPPED[term[0]]
            yield from self._names(term[1], depth + 1)
        elif term[0] in {EITHER, GENERIC}:
            for part in term[1:]:
                yield from self._names(part, depth + 1)
        else:
            yield from self._of_place(term, depth + 1)

    def _of_place(self, term: Any, depth: int) -> Iterator[str]:
        if term[0] == CONTAINER:
            for item in self._lowered.containers[term[1]].items:
                yield from self._names(item, depth)
        elif term[0] in {INSTANCE, DECLARED}:
            for name in self.names(term[1]):
                yield name + RESULT
        elif term[0] == SCOPE:
            scope = self._lowered.scopes[term[1]]
            is_lambda = scope.kind == LAMBDA_SCOPE
            yield lambda_name(self._lowered.path, term[1]) if is_lambda else scope.name

    def _of_call(self, number: int, depth: int) -> Iterator[str]:
        call = self._lowered.calls[number]
        callee = call.callee
        if callee == "getattr" and len(call.args) > 1 and _is_text(call.args[1]):
            yield call.args[1][1]
        held = not isinstance(callee, str | int) and callee is not None and callee[0] == ATTRIBUTE
        if held and callee[2] in _HELD:
            yield from self._names(callee[1], depth)
            for term in call.args:
                yield from self._names(term, depth)
        for name in set(self._names(callee, depth)):
            if name.count(RESULT) < MOST_RESULTS:
                yield name + RESULT
            if name.partition(RESULT)[0] in HANDING_ON:
                for term in (*call.args, *(t for _, t in call.keywords)):
                    yield from self._names(term, depth)


def lambda_name(path: str, scope: int) -> str:
    """A name for what has none: no identifier, and it tells its file."""
    return f"<{scope}>{path}"


def mentioned_as(name: str) -> str:
    """What files that have a name of flows mention; empty where it tells the only one."""
    plain = name.partition(RESULT)[0]
    return "" if plain.startswith("<") else plain


def only_place(name: str) -> str:
    """The path of the only file that can have the name, if it tells it."""
    return name.partition(RESULT)[0].partition(">")[2]


def _is_text(term: Any) -> bool:
    return isinstance(term, list | tuple) and term[0] == TEXT
