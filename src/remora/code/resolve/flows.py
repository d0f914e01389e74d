"""Which names of a file carry the value of which others, whatever that value is.

A name stands for a variable, an attribute or a function, wherever it is; `f()` stands for what a
call of it gives. This knows nothing of scopes or types: it only narrows down where to look.
"""

from collections.abc import Iterator
from typing import Any

from remora.code.lowered import (
    ANNOTATED,
    ATTRIBUTE,
    AWAIT,
    CONTAINER,
    DECLARED,
    DEFINITION,
    EACH,
    EITHER,
    ENTERED,
    GENERIC,
    IMPORT,
    IMPORT_FROM,
    INSTANCE,
    ITEM,
    LAMBDA_SCOPE,
    SCOPE,
    SLICE,
    STAR,
    TEXT,
    Bind,
    Lowered,
)

RESULT = "()"
_DEEPEST = 12
_MOST_RESULTS = 3
HANDING_ON = frozenset(
    "partial partialmethod list tuple set frozenset dict sorted reversed iter next min max "
    "enumerate zip filter deque defaultdict OrderedDict ChainMap chain cycle islice choice copy "
    "deepcopy cast lru_cache cache staticmethod classmethod property contextmanager "
    "asynccontextmanager singledispatch wraps run wait_for create_task ensure_future shield "
    "map WeakKeyDictionary WeakValueDictionary WeakSet final no_type_check abstractmethod".split()
)
"""Functions of the outside whose result may be, or hold, what they are given."""
_HELD = frozenset(
    "get pop setdefault popleft popitem values items copy fromkeys __getitem__ __next__ "
    "__iter__".split()
)
_STRIPPED = frozenset((EACH, AWAIT, STAR, ENTERED, ITEM, SLICE))


class Flows:
    """The flows of one file."""

    def __init__(self, lowered: Lowered) -> None:
        self._lowered = lowered
        self.targets: dict[str, set[str]] = {}
        """Name → names that may have its value."""
        self.passed: dict[str, list[int]] = {}
        """Name → calls that have its value among their arguments."""
        self.called: dict[str, list[int]] = {}
        """Name → calls of its value."""
        self._scopes()
        self._attributes()
        self._calls()

    def _flow(self, term: Any, target: str) -> None:
        for name in self.names(term):
            self.targets.setdefault(name, set()).add(target)

    def _promise(self, annotation: Any, target: str) -> None:
        for name in self.names(annotation):
            self.targets.setdefault(name + RESULT, set()).add(target)

    def _scopes(self) -> None:
        for scope in self._lowered.scopes:
            for name, binds in scope.binds.items():
                for bind in binds:
                    self._bound(bind, name)
            for param in scope.params:
                self._flow(param.default, param.name)
                self._promise(param.annotation, param.name)
            for _, term in (*scope.results, *scope.yields):
                self._flow(term, scope.name + RESULT)
            self._promise(scope.annotation, scope.name + RESULT)

    def _bound(self, bind: Bind, name: str) -> None:
        if bind.kind == IMPORT_FROM:
            self.targets.setdefault(bind.extra, set()).add(name)
        elif bind.kind == ANNOTATED:
            self._promise(bind.term, name)
            self._flow(bind.extra, name)
        elif bind.kind == DEFINITION:
            self._flow(bind.extra, name)
        elif bind.kind != IMPORT:
            self._flow(bind.term, name)

    def _attributes(self) -> None:
        for store in self._lowered.stores:
            self._flow(store.term, store.name)
            self._promise(store.annotation, store.name)
        for fill in self._lowered.fills:
            for base in self.names(fill.base):
                self._flow(fill.term, base)

    def _calls(self) -> None:
        for number, call in enumerate(self._lowered.calls):
            for name in self.names(call.callee):
                self.called.setdefault(name, []).append(number)
            if call.implicit:
                continue
            for term in (*call.args, *(term for _, term in call.keywords)):
                for name in self.names(term):
                    self.passed.setdefault(name, []).append(number)

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
            if scope.kind != LAMBDA_SCOPE:
                yield scope.name
            else:
                for _, result in scope.results:
                    for name in self._names(result, depth):
                        yield name

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
            if name.count(RESULT) < _MOST_RESULTS:
                yield name + RESULT
            if name.partition(RESULT)[0] in HANDING_ON:
                for term in (*call.args, *(t for _, t in call.keywords)):
                    yield from self._names(term, depth)


def _is_text(term: Any) -> bool:
    return isinstance(term, list | tuple) and term[0] == TEXT
