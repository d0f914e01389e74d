"""Comparable module interfaces, which contain everything in a module except function bodies.

An interface covers classes, the headers of functions and lambdas, attributes that methods assign
through `self`, and the names of all base classes. It also records which functions are stubs.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.ir.model import (
    ATTRIBUTE,
    COMPREHENSION_SCOPE,
    CONSTANT,
    CONTAINER,
    DEFINITION,
    ENTERED,
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_FROM,
    ITEM,
    SCOPE,
    TEXT,
    AttributeRead,
    AttributeWrite,
    Binding,
    Call,
    Container,
    ContainerWrite,
    LoweredFile,
    Scope,
)

_IN_FUNCTION = "within"  # replaces anything inside a function
_LITERAL = frozenset((TEXT, CONSTANT))
_IMPORTS = frozenset((IMPORT, IMPORT_FROM))


def interface(lowered: LoweredFile | None) -> Any:
    """Return a comparable value for a file's interface. Line numbers and function bodies are
    ignored.
    """
    return (
        None
        if lowered is None or not lowered.scopes
        else _InterfaceBuilder(IndexedFile(lowered)).build()
    )


def star_names(lowered: LoweredFile) -> Collection[str]:
    """Return the names that `import *` provides, excluding names from re-exported modules."""
    if lowered.exports is not None:
        return [each for each in lowered.exports if isinstance(each, str)]
    return [name for name in lowered.scopes[0].binds if not name.startswith("_")]


def reexported_modules(lowered: LoweredFile) -> Sequence[tuple[int, str]]:
    """Return (level, module) for each module whose names the file re-exports through `import *`."""
    if lowered.exports is None:
        return lowered.stars
    return [each for each in lowered.exports if not isinstance(each, str)]


class _InterfaceBuilder:
    """Builds an interface. Records are renumbered by their position in the interface."""

    def __init__(self, file: IndexedFile) -> None:
        lowered = file.lowered
        self._file = file
        self._scopes = _number_positions(
            n for n, s in enumerate(file.scopes) if file.is_module_level(s.parent)
        )
        self._calls = _number_positions(
            n for n, c in enumerate(lowered.calls) if file.is_module_level(c.scope)
        )
        containers = enumerate(lowered.containers)
        self._containers = _number_positions(
            n for n, c in containers if file.is_module_level(c.scope)
        )
        self._statements: dict[int, int] = {}

    def build(self) -> Any:
        lowered, file = self._file.lowered, self._file
        scopes = [self._scope(number) for number in self._scopes]
        kinds: tuple[
            Sequence[Call | AttributeRead | AttributeWrite | ContainerWrite | Container], ...
        ] = (lowered.calls, lowered.reads, lowered.stores, lowered.fills, lowered.containers)
        records = [[self._record(r) for r in k if file.is_module_level(r.scope)] for k in kinds]
        classes = sorted(
            (file.scopes[n].qualname, *map(file.term_name, file.scopes[n].bases))
            for n in file.classes
        )
        own = sorted((file.scopes[n].qualname, name) for n, name in file.self_stores)
        stars = [tuple(star) for star in lowered.stars]
        return scopes, records, self._blocks(), classes, own, stars, lowered.exports

    def _scope(self, number: int) -> Any:
        scope = self._file.scopes[number]
        known = (
            scope.kind,
            scope.name,
            scope.qualname,
            self._scopes.get(scope.parent, _IN_FUNCTION),
            self._at(scope.at),
            scope.flags,
        )
        if scope.kind == COMPREHENSION_SCOPE:
            return known
        head = self._head(number, scope)
        if not self._file.is_module_level(number):
            return known, head
        binds = [(name, [self._bind(b) for b in found]) for name, found in scope.binds.items()]
        return known, head, binds

    def _head(self, number: int, scope: Scope) -> Any:
        return (
            scope.kind == FUNCTION_SCOPE and self._file.is_stub(number),
            [
                (p.name, p.kind, self._term(p.annotation), self._term(p.default))
                for p in scope.params
            ],
            [self._calls.get(number, _IN_FUNCTION) for number in scope.decorators],
            self._term(scope.annotation),
            [self._term(base) for base in scope.bases],
            tuple(scope.outer),
        )

    def _bind(self, bind: Binding) -> Any:
        scope = self._scopes.get(bind.scope, _IN_FUNCTION)
        if bind.kind in _IMPORTS:
            terms: Any = (_as_tuples(bind.term), _as_tuples(bind.extra))
        elif bind.kind == DEFINITION:
            terms = (self._scopes.get(bind.term, _IN_FUNCTION), self._term(bind.extra))
        else:
            terms = (self._term(bind.term), self._term(bind.extra))
        return bind.kind, self._at(bind.at), scope, terms

    def _record(
        self, record: Call | AttributeRead | AttributeWrite | ContainerWrite | Container
    ) -> Any:
        point = (self._scopes[record.scope], self._at(record.at))
        match record:
            case Call():
                keywords = [(name, self._term(term)) for name, term in record.keywords]
                args = [self._term(term) for term in record.args]
                return point, self._term(record.callee), args, keywords, record.implicit
            case AttributeRead():
                return point, self._term(record.term)
            case AttributeWrite():
                terms = [self._term(t) for t in (record.base, record.term, record.annotation)]
                return point, record.name, terms
            case ContainerWrite():
                return (
                    point,
                    _as_tuples(record.key),
                    self._term(record.base),
                    self._term(record.term),
                )
            case Container():
                items = [self._term(item) for item in record.items]
                return point, items, _as_tuples(record.keys), record.each

    def _term(self, term: Any) -> Any:
        if term is None or isinstance(term, str):
            return term
        if isinstance(term, int):
            return self._calls.get(term, _IN_FUNCTION)
        tag, *parts = term
        if tag in _LITERAL:
            return (tag, *parts)
        if tag in {CONTAINER, SCOPE}:
            numbers = self._containers if tag == CONTAINER else self._scopes
            return tag, numbers.get(parts[0], _IN_FUNCTION)
        if tag in {ATTRIBUTE, ITEM, ENTERED}:
            return tag, self._term(parts[0]), parts[1]
        return (tag, *map(self._term, parts))

    def _at(self, statement: int) -> int:
        """Return a number for a statement.

        Numbers are assigned in order of first use. `_blocks` restores the source order.
        """
        return self._statements.setdefault(statement, len(self._statements))

    def _blocks(self) -> Any:
        """Return the order of the statements, the block of each statement, and the blocks
        themselves.
        """
        lowered = self._file.lowered
        order = sorted(self._statements)
        owners = [lowered.statements[at] for at in order if 0 <= at < len(lowered.statements)]
        used = set(owners)
        for number in owners:
            while (number := lowered.blocks[number].parent) >= 0:
                used.add(number)
        groups = {lowered.blocks[number].group for number in used}
        blocks = _number_positions(
            n for n, b in enumerate(lowered.blocks) if n in used or b.group in groups
        )
        group = _number_positions(sorted(groups))
        described = [
            (blocks.get(b.parent, _IN_FUNCTION), group[b.group], b.arms, b.flags)
            for b in (lowered.blocks[number] for number in blocks)
        ]
        return (
            [self._statements[at] for at in order],
            [blocks[number] for number in owners],
            described,
        )


def _number_positions(numbers: Iterable[int]) -> dict[int, int]:
    return {number: position for position, number in enumerate(numbers)}


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value
