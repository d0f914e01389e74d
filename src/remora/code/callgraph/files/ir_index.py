"""One lowered file, with the indexes that questions about it need, each made when first asked."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from remora.code.callgraph.files.dataflow import Flows
from remora.code.callgraph.files.visibility import Flow
from remora.code.ir.model import (
    ATTRIBUTE,
    CLASS_SCOPE,
    COMPREHENSION_SCOPE,
    CONTAINER,
    DEFINITION,
    FUNCTION_SCOPE,
    ITEM,
    LAMBDA_SCOPE,
    MODULE_SCOPE,
    SLICE,
    AttributeRead,
    AttributeWrite,
    Binding,
    Call,
    ContainerWrite,
    LoweredFile,
    Scope,
    estimated_records,
    unqualified_name,
)

_DEEPEST = 40
PARAMETER = -1  # in the place of a bind's index: the parameter itself

_NOT_MADE = frozenset(("NotImplementedError", "NotImplemented"))


class Seen(NamedTuple):
    """A bind that a name may mean: `bind` counts within the binds of `name` in `scope`."""

    scope: int
    name: str
    bind: int


class File:
    """A file and its indexes."""

    def __init__(self, lowered: LoweredFile) -> None:
        self.path = lowered.path
        self.lowered = lowered
        self.scopes: Sequence[Scope] = lowered.scopes
        self.weight = estimated_records(lowered)
        self._flow = Flow(lowered)
        self._lookups: dict[tuple[int, str, int], tuple[Seen, ...]] = {}

    @cached_property
    def nodes(self) -> dict[str, int]:
        """Qualname → number of the scope of a definition, or of the module."""
        return {
            scope.qualname: number
            for number, scope in enumerate(self.scopes)
            if scope.kind in {MODULE_SCOPE, CLASS_SCOPE, FUNCTION_SCOPE}
        }

    @cached_property
    def names(self) -> frozenset[str]:
        """All names by which it may mention something."""
        return frozenset(self.lowered.names)

    def is_outer(self, number: int) -> bool:
        """Whether a scope is the module, or a class in it or in such a class; -1: what is around."""
        return number < 0 or number in self._outer

    @cached_property
    def _outer(self) -> frozenset[int]:
        found = {-1}
        for number, scope in enumerate(self.scopes):  # what is around comes first
            if scope.parent in found and scope.kind in {MODULE_SCOPE, CLASS_SCOPE}:
                found.add(number)
        return frozenset(found)

    def is_local(self, number: int) -> bool:
        """Whether a definition's name can be seen in this file only."""
        parent = self.scopes[number].parent
        return parent >= 0 and self.scopes[parent].kind not in {MODULE_SCOPE, CLASS_SCOPE}

    @cached_property
    def classes(self) -> list[int]:
        """Numbers of the scopes of classes."""
        return [i for i, scope in enumerate(self.scopes) if scope.kind == CLASS_SCOPE]

    def does_nothing(self, number: int) -> bool:
        """Whether a function is there to be overridden only: it is empty, or raises just that."""
        scope = self.scopes[number]
        if scope.results or scope.yields or scope.binds:
            return False
        calls, reads, stores = self.sites_by_owner.get(scope.qualname, ([], [], []))
        raised = all(self.written(self.lowered.calls[n].callee) in _NOT_MADE for n in calls)
        return raised and not reads and not stores

    def decorations(self, number: int) -> set[str]:
        """Last names of a definition's decorators."""
        calls = self.lowered.calls
        return {self.written(calls[c].callee) for c in self.scopes[number].decorators}

    @cached_property
    def flows(self) -> Flows:
        """Which names carry the values of which others."""
        return Flows(self.lowered)

    @cached_property
    def reads_by_name(self) -> dict[str, list[int]]:
        """Attribute → numbers of the reads."""
        found: dict[str, list[int]] = {}
        for number, read in enumerate(self.lowered.reads):
            found.setdefault(read.term[2], []).append(number)
        return found

    @cached_property
    def stores_by_name(self) -> dict[str, list[int]]:
        """Attribute → numbers of the stores."""
        found: dict[str, list[int]] = {}
        for number, store in enumerate(self.lowered.stores):
            found.setdefault(store.name, []).append(number)
        return found

    @cached_property
    def own_stores(self) -> dict[tuple[int, str], list[AttributeWrite]]:
        """(class, attribute) → `self.attribute = …` in its methods."""
        found: dict[tuple[int, str], list[AttributeWrite]] = {}
        for store in self.lowered.stores:
            owner = self.class_of_self(store.scope, store.base)
            if owner is not None:
                found.setdefault((owner, store.name), []).append(store)
        return found

    def calls_on(self, name: str) -> list[Call]:
        """Calls of an attribute of that name, as `super().name()` is one."""
        numbers = self.flows.called.get(name, ())
        calls = [self.lowered.calls[number] for number in numbers]
        return [call for call in calls if _is_attribute(call.callee)]

    @cached_property
    def fills_of(self) -> dict[tuple[int, str], list[ContainerWrite]]:
        """(scope, name) of a variable, or (class, attribute) → what is put into it."""
        found: dict[tuple[int, str], list[ContainerWrite]] = {}
        for fill in self.lowered.fills:
            place = self._place_of(fill.scope, fill.at, fill.base)
            if place is not None:
                found.setdefault(place, []).append(fill)
        return found

    @cached_property
    def homes(self) -> dict[tuple[bool, int], list[tuple[int, str]]]:
        """(is a container, number of the container or call) → the variables it is assigned to."""
        found: dict[tuple[bool, int], list[tuple[int, str]]] = {}
        for number, scope in enumerate(self.scopes):
            for name, binds in scope.binds.items():
                for bind in binds:
                    for term in (bind.term, bind.extra):
                        _note(found, term, (number, name))
        for (owner, name), stores in self.own_stores.items():
            for store in stores:
                _note(found, store.term, (owner, name))
        return found

    @cached_property
    def sites_by_owner(self) -> dict[str, tuple[list[int], list[int], list[int]]]:
        """Qualname of a node → its calls, its reads, its stores."""
        found: dict[str, tuple[list[int], list[int], list[int]]] = {}
        kinds: tuple[Sequence[Call | AttributeRead | AttributeWrite], ...] = (
            self.lowered.calls,
            self.lowered.reads,
            self.lowered.stores,
        )
        for kind, sites in enumerate(kinds):
            for number, site in enumerate(sites):
                owner = self.scopes[site.scope].qualname
                found.setdefault(owner, ([], [], []))[kind].append(number)
        return found

    @cached_property
    def aliases(self) -> dict[str, set[str]]:
        """Imported name → other names that this file gives it."""
        found: dict[str, set[str]] = {}
        for scope in self.scopes:
            for name, binds in scope.binds.items():
                for bind in binds:
                    if isinstance(bind.extra, str) and bind.extra != name:
                        found.setdefault(bind.extra, set()).add(name)
        return found

    def written(self, term: Any) -> str:
        """The last name of `a.b`, of `a.b[…]` or of `a.b(…)`; "" where there is none."""
        for _ in range(_DEEPEST):
            if isinstance(term, int):
                term = self.lowered.calls[term].callee
            elif isinstance(term, list | tuple) and term[0] in {ITEM, SLICE}:
                term = term[1]
            else:
                break
        return unqualified_name(term)

    def method_around(self, scope: int) -> int | None:
        """The method in whose body, or nested functions, `scope` lies."""
        while scope > 0:
            found = self.scopes[scope]
            if found.kind == FUNCTION_SCOPE and self.scopes[found.parent].kind == CLASS_SCOPE:
                return scope
            scope = found.parent
        return None

    def class_of_self(self, scope: int, base: Any) -> int | None:
        """The class whose instance `base` is, if it is the first parameter of a method."""
        if not isinstance(base, str):
            return None
        method = self.method_around(scope)
        if method is None:
            return None
        params = self.scopes[method].params
        return self.scopes[method].parent if params and params[0].name == base else None

    def is_declared(self, scope: int, base: Any, at: int) -> bool:
        """Whether `base` may be a parameter there of which an annotation says what it takes."""
        if not isinstance(base, str):
            return False
        seen = [s.scope for s in self.lookup(scope, base, at) if s.bind == PARAMETER]
        params = [param for number in seen for param in self.scopes[number].params]
        return any(p.name == base and p.annotation is not None for p in params)

    def _place_of(self, scope: int, at: int, base: Any) -> tuple[int, str] | None:
        if isinstance(base, str):
            seen = self.lookup(scope, base, at)
            return (seen[0].scope, base) if seen else None
        if not isinstance(base, int) and base[0] == ATTRIBUTE:
            owner = self.class_of_self(scope, base[1])
            return None if owner is None else (owner, base[2])
        if not isinstance(base, int) and base[0] == ITEM:  # a container in a container
            return self._place_of(scope, at, base[1])
        return None

    def lookup(self, scope: int, name: str, at: int) -> tuple[Seen, ...]:
        """What `name` may mean in `scope` at the statement `at`; nothing: it is not bound here."""
        asked = (scope, name, at)
        found = self._lookups.get(asked)
        if found is None:
            found = self._lookups[asked] = self._look(scope, name, at)
        return found

    def _look(self, start: int, name: str, at: int) -> tuple[Seen, ...]:
        number, direct = start, True
        while number >= 0:
            scope = self.scopes[number]
            visible = number == start or scope.kind != CLASS_SCOPE
            if visible and name not in scope.outer:
                found = self._in_scope(number, name, at, direct=direct)
                if found:
                    return found
            if scope.kind in {FUNCTION_SCOPE, LAMBDA_SCOPE}:
                direct, at = False, scope.at
            elif scope.kind == CLASS_SCOPE:
                at = scope.at
            number = scope.parent
        return ()

    def _in_scope(self, number: int, name: str, at: int, *, direct: bool) -> tuple[Seen, ...]:
        scope = self.scopes[number]
        binds = scope.binds.get(name, ())
        given = any(param.name == name for param in scope.params)
        if not binds:
            return (Seen(number, name, PARAMETER),) if given else ()
        indexes, sure = self._indexes(number, binds, at, direct=direct)
        found = [Seen(number, name, index) for index in indexes]
        if given and not sure:
            found.append(Seen(number, name, PARAMETER))
        return tuple(found)

    def _indexes(
        self, number: int, binds: Sequence[Binding], at: int, *, direct: bool
    ) -> tuple[list[int], bool]:
        scope = self.scopes[number]
        every = list(range(len(binds)))
        if scope.kind == COMPREHENSION_SCOPE:
            return every, True
        if not direct and scope.kind == MODULE_SCOPE:
            return self.at_end(binds, number), True
        indexes, sure = self._flow.reaching(binds, number, at)
        if not direct:  # a function that is called later may see what is bound later
            later = [index for index in every if binds[index].at >= at]
            return sorted({*indexes, *later}), sure
        if not indexes and scope.kind != CLASS_SCOPE and not scope.params:
            return every, False
        return indexes, sure

    def at_end(self, binds: Sequence[Binding], number: int) -> list[int]:
        """Indexes of the binds that hold when the scope has run."""
        if len(binds) == 1:
            return [0]
        return self._flow.at_end(binds, number, self.scopes[number].at)

    def exported(self, number: int, name: str) -> tuple[Seen, ...]:
        """What `name` means in a module or class that has run."""
        binds = self.scopes[number].binds.get(name)
        if not binds:
            return ()
        return tuple(Seen(number, name, index) for index in self.at_end(binds, number))

    def definition(self, seen: Seen) -> int | None:
        """The scope of the definition that binds the name there."""
        if seen.bind == PARAMETER:
            return None
        bind = self.scopes[seen.scope].binds[seen.name][seen.bind]
        return int(bind.term) if bind.kind == DEFINITION else None


def _is_attribute(term: Any) -> bool:
    return isinstance(term, list | tuple) and term[0] == ATTRIBUTE


def _note(
    found: dict[tuple[bool, int], list[tuple[int, str]]], term: Any, home: tuple[int, str]
) -> None:
    if term.__class__ is int:
        found.setdefault((False, term), []).append(home)
    elif isinstance(term, list | tuple) and term[:1] and term[0] == CONTAINER:
        found.setdefault((True, term[1]), []).append(home)
