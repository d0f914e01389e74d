"""Analysis of which nodes of a file use each name."""

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

_UNARY_TAGS = frozenset({ATTRIBUTE, ITEM, SLICE, AWAIT, ELEMENT, STAR, ENTERED, INSTANCE})
"""Tags of terms with one operand."""


def name_usage(lowered: LoweredFile) -> Mapping[str, set[str]]:
    """Map each name to the qualnames of the nodes that use it, including uses in decorators."""
    found: dict[str, set[str]] = {}
    owners = [scope.qualname for scope in lowered.scopes]
    for scope, terms in _terms(lowered):
        for name in _names(lowered, terms):
            found.setdefault(name, set()).add(owners[scope])
    return found


def _terms(lowered: LoweredFile) -> Iterator[tuple[int, Iterable[Any]]]:
    """Yield (scope number, terms) for the terms that are evaluated in each scope."""
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
    """Return the term that a binding assigns, or None."""
    if bind.kind == ANNOTATED:
        return bind.extra
    return bind.term if bind.kind in (VALUE, NARROWED) else None


def _names(lowered: LoweredFile, terms: Iterable[Any]) -> Iterator[str]:
    pending = list(terms)
    visited: set[tuple[str, int]] = set()
    while pending:
        term = pending.pop()
        if isinstance(term, str):
            yield term
        elif isinstance(term, int):
            pending += _operands(lowered, ("call", term), visited)
        elif isinstance(term, Sequence) and term and term[0] == CONTAINER:
            pending += _operands(lowered, ("container", term[1]), visited)
        elif isinstance(term, Sequence) and term and term[0] in _UNARY_TAGS:
            pending.append(term[1])
        elif isinstance(term, Sequence) and term and term[0] == EITHER:
            pending += term[1:]


def _operands(
    lowered: LoweredFile, reference: tuple[str, int], visited: set[tuple[str, int]]
) -> list[Any]:
    if reference in visited:
        return []
    visited.add(reference)
    if reference[0] == "container":
        return list(lowered.containers[reference[1]].items)
    call = lowered.calls[reference[1]]
    return [call.callee, *call.args, *(value for _, value in call.keywords)]
