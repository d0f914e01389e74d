"""Which names each node of a file mentions, by itself or in its decorators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from remora.code.ir.model import (
    ANNOTATED,
    ATTRIBUTE,
    AWAIT,
    CONTAINER,
    EITHER,
    ELEMENT,
    ENTERED,
    INSTANCE,
    ITEM,
    NARROWED,
    SLICE,
    STAR,
    VALUE,
    Binding,
    LoweredFile,
)

_ONE = frozenset({ATTRIBUTE, ITEM, SLICE, AWAIT, ELEMENT, STAR, ENTERED, INSTANCE})
"""Tags of terms that are made from one other."""


def name_usage(lowered: LoweredFile) -> Mapping[str, set[str]]:
    """Name → qualnames of the nodes that mention it; a decorator counts for what it decorates
    too."""
    found: dict[str, set[str]] = {}
    owners = [scope.qualname for scope in lowered.scopes]
    for scope, terms in _terms(lowered):
        for name in _names(lowered, terms):
            found.setdefault(name, set()).add(owners[scope])
    return found


def _terms(lowered: LoweredFile) -> Iterator[tuple[int, Iterable[Any]]]:
    """Every term, with the number of the scope that it counts for."""
    for call in lowered.calls:
        yield call.scope, (call.callee, *call.args, *(value for _, value in call.keywords))
    for store in lowered.stores:
        yield store.scope, (store.base, store.term)
    for fill in lowered.fills:
        yield fill.scope, (fill.base, fill.term)
    for container in lowered.containers:
        yield container.scope, container.items
    for number, scope in enumerate(lowered.scopes):
        yield number, [_value(bind) for binds in scope.binds.values() for bind in binds]
        yield number, [term for _, term in scope.results]
        yield number, [lowered.calls[call].callee for call in scope.decorators]


def _value(bind: Binding) -> Any:
    """The term of the value that a name gets; null where no term says it."""
    if bind.kind == ANNOTATED:
        return bind.extra
    return bind.term if bind.kind in (VALUE, NARROWED) else None


def _names(lowered: LoweredFile, terms: Iterable[Any]) -> Iterator[str]:
    """Plain names in terms; through the arguments of calls and the items of containers."""
    waiting = list(terms)
    seen: set[tuple[str, int]] = set()
    while waiting:
        term = waiting.pop()
        if isinstance(term, str):
            yield term
        elif isinstance(term, int):
            waiting += _inside(lowered, ("call", term), seen)
        elif isinstance(term, Sequence) and term and term[0] == CONTAINER:
            waiting += _inside(lowered, ("container", term[1]), seen)
        elif isinstance(term, Sequence) and term and term[0] in _ONE:
            waiting.append(term[1])
        elif isinstance(term, Sequence) and term and term[0] == EITHER:
            waiting += term[1:]


def _inside(lowered: LoweredFile, what: tuple[str, int], seen: set[tuple[str, int]]) -> list[Any]:
    if what in seen:
        return []
    seen.add(what)
    if what[0] == "container":
        return list(lowered.containers[what[1]].items)
    call = lowered.calls[what[1]]
    return [call.callee, *call.args, *(value for _, value in call.keywords)]
