"""What is in a file outside of functions: what others see of it without running anything.

To it belong the module, its classes and theirs, the heads of the functions and lambdas in them,
which attributes methods store through `self`, which functions do nothing, and which classes
anywhere have bases of which names.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from remora.code.callgraph.files.ir_index import File
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

_WITHIN = "within"  # stands for what lies in a function
_LITERAL = frozenset((TEXT, CONSTANT))
_IMPORTS = frozenset((IMPORT, IMPORT_FROM))


def outline(lowered: LoweredFile | None) -> Any:
    """Comparable: the same for two states of a file that differ within functions alone, or in the
    lines on which things stand."""
    return None if lowered is None or not lowered.scopes else _Outline(File(lowered)).made()


class _Outline:
    """Numbers are replaced by places among those that belong to the outline."""

    def __init__(self, file: File) -> None:
        lowered = file.lowered
        self._file = file
        self._scopes = _places(n for n, s in enumerate(file.scopes) if file.is_outer(s.parent))
        self._calls = _places(n for n, c in enumerate(lowered.calls) if file.is_outer(c.scope))
        held = enumerate(lowered.containers)
        self._containers = _places(n for n, c in held if file.is_outer(c.scope))
        self._statements: dict[int, int] = {}

    def made(self) -> Any:
        lowered, file = self._file.lowered, self._file
        scopes = [self._scope(number) for number in self._scopes]
        kinds: tuple[
            Sequence[Call | AttributeRead | AttributeWrite | ContainerWrite | Container], ...
        ] = (
            lowered.calls,
            lowered.reads,
            lowered.stores,
            lowered.fills,
            lowered.containers,
        )
        records = [[self._record(r) for r in kind if file.is_outer(r.scope)] for kind in kinds]
        classes = sorted(
            (file.scopes[n].qualname, *map(file.written, file.scopes[n].bases))
            for n in file.classes
        )
        own = sorted((file.scopes[n].qualname, name) for n, name in file.own_stores)
        stars = [tuple(star) for star in lowered.stars]
        return scopes, records, self._flow(), classes, own, stars, lowered.exports

    def _scope(self, number: int) -> Any:
        scope = self._file.scopes[number]
        known = (
            scope.kind,
            scope.name,
            scope.qualname,
            self._scopes.get(scope.parent, _WITHIN),
            self._at(scope.at),
            scope.flags,
        )
        if scope.kind == COMPREHENSION_SCOPE:
            return known
        head = self._head(number, scope)
        if not self._file.is_outer(number):
            return known, head
        binds = [(name, [self._bind(b) for b in found]) for name, found in scope.binds.items()]
        return known, head, binds

    def _head(self, number: int, scope: Scope) -> Any:
        return (
            scope.kind == FUNCTION_SCOPE and self._file.does_nothing(number),
            [
                (p.name, p.kind, self._term(p.annotation), self._term(p.default))
                for p in scope.params
            ],
            [self._calls.get(number, _WITHIN) for number in scope.decorators],
            self._term(scope.annotation),
            [self._term(base) for base in scope.bases],
            tuple(scope.outer),
        )

    def _bind(self, bind: Binding) -> Any:
        scope = self._scopes.get(bind.scope, _WITHIN)
        if bind.kind in _IMPORTS:
            made: Any = (_plain(bind.term), _plain(bind.extra))
        elif bind.kind == DEFINITION:
            made = (self._scopes.get(bind.term, _WITHIN), self._term(bind.extra))
        else:
            made = (self._term(bind.term), self._term(bind.extra))
        return bind.kind, self._at(bind.at), scope, made

    def _record(
        self, record: Call | AttributeRead | AttributeWrite | ContainerWrite | Container
    ) -> Any:
        place = (self._scopes[record.scope], self._at(record.at))
        match record:
            case Call():
                keywords = [(name, self._term(term)) for name, term in record.keywords]
                given = [self._term(term) for term in record.args]
                return place, self._term(record.callee), given, keywords, record.implicit
            case AttributeRead():
                return place, self._term(record.term)
            case AttributeWrite():
                terms = [self._term(t) for t in (record.base, record.term, record.annotation)]
                return place, record.name, terms
            case ContainerWrite():
                return place, _plain(record.key), self._term(record.base), self._term(record.term)
            case Container():
                items = [self._term(item) for item in record.items]
                return place, items, _plain(record.keys), record.each

    def _term(self, term: Any) -> Any:
        if term is None or isinstance(term, str):
            return term
        if isinstance(term, int):
            return self._calls.get(term, _WITHIN)
        tag, *parts = term
        if tag in _LITERAL:
            return (tag, *parts)
        if tag in {CONTAINER, SCOPE}:
            numbers = self._containers if tag == CONTAINER else self._scopes
            return tag, numbers.get(parts[0], _WITHIN)
        if tag in {ATTRIBUTE, ITEM, ENTERED}:
            return tag, self._term(parts[0]), parts[1]
        return (tag, *map(self._term, parts))

    def _at(self, statement: int) -> int:
        """Statements are told apart here, and put in their order by `_flow`."""
        return self._statements.setdefault(statement, len(self._statements))

    def _flow(self) -> Any:
        """In which order the statements stand, and in which blocks."""
        lowered = self._file.lowered
        order = sorted(self._statements)
        around = [lowered.statements[at] for at in order if 0 <= at < len(lowered.statements)]
        used = set(around)
        for number in around:
            while (number := lowered.blocks[number].parent) >= 0:
                used.add(number)
        groups = {lowered.blocks[number].group for number in used}
        blocks = _places(n for n, b in enumerate(lowered.blocks) if n in used or b.group in groups)
        group = _places(sorted(groups))
        shown = [
            (blocks.get(b.parent, _WITHIN), group[b.group], b.arms, b.flags)
            for b in (lowered.blocks[number] for number in blocks)
        ]
        return [self._statements[at] for at in order], [blocks[number] for number in around], shown


def _places(numbers: Iterable[int]) -> dict[int, int]:
    return {number: place for place, number in enumerate(numbers)}


def _plain(value: Any) -> Any:
    """Sequences as they are compared, wherever they were read from."""
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value
