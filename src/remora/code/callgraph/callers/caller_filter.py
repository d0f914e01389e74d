"""Filter for values that may lead to the node whose callers are being searched for."""

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import TOP, Value, Values, join
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.dataflow import NameFlow
from remora.code.callgraph.names.call_targets import CALLER_LEVELS, term_values
from remora.code.callgraph.rules.points_to import instances_of

_MAX_NESTING = 3
_MAX_ITEMS = 4  # maximum number of items of an unpacked pair or tuple
_SCALAR_KINDS = frozenset(
    (
        *(kinds.FUNCTION, kinds.CLASS, kinds.OWN_CLASS, kinds.INSTANCE, kinds.SELF, kinds.MODULE),
        *(kinds.NAMESPACE, kinds.EXTERNAL, kinds.OPAQUE, kinds.SUPER),
    )
)
"""Kinds that contain no other value."""


class TargetFilter:
    """Accepts values that have one of the given kinds and places, or may contain such a value."""

    def __init__(
        self, ctx: Context, places: set[tuple[str, int]], accepted: tuple[str, ...]
    ) -> None:
        self._ctx = ctx
        self._places = places
        self._accepted = accepted

    def accepts(self, path: str, flow: NameFlow, depth: int) -> bool:
        """Return True if a flow's term, or what calling it `depth` times gives, may be accepted."""
        if flow.term is None:
            return True
        values = term_values(self._ctx, (path, flow.scope, flow.at), flow.term)
        return self._any_matches(values, depth)

    def _any_matches(self, values: Values, depth: int, nested: int = 0) -> bool:
        if values is TOP:
            return False
        if any(self._matches(value, nested) for value, _ in values):
            return True
        if not depth:
            return False
        return self._any_matches(join([self._call_results(v) for v, _ in values]), depth - 1)

    def _matches(self, value: Value, nested: int) -> bool:
        if value[0] == kinds.BOUND:
            return self._matches(value[1], nested)
        if value[0] in self._accepted and (value[1], value[2]) in self._places:
            return True
        if value[0] in {kinds.INSTANCE, kinds.SELF} and kinds.FUNCTION in self._accepted:
            question = ("class_attribute", 0, value[1], value[2], "__call__")
            return any(
                v[0] == kinds.FUNCTION and self._matches(v, nested)
                for v, _ in self._ctx.solve(question)
            )
        if value[0] in _SCALAR_KINDS:
            return value[0] == kinds.OPAQUE and len(value) > 2  # the beginning of a name
        if nested > _MAX_NESTING:
            return True
        return self._any_matches(self._contents(value), 0, nested + 1)

    def _contents(self, value: Value) -> Values:
        """Return the values obtained by iterating over, awaiting or calling `value`."""
        if (kind := value[0]) == kinds.CONTAINER_METHOD:
            return self._contents(value[1])
        if kind in {kinds.PARTIAL, kinds.PROPERTY}:
            questions = [("argument", CALLER_LEVELS, value[1], value[2], index) for index in (0, 1)]
            return join(map(self._ctx.solve, questions))
        if kind == kinds.DISPATCHED:
            return self._ctx.solve(value)
        if kind == kinds.COROUTINE:
            return self._ctx.solve(("returns", CALLER_LEVELS, value[1], value[2]))
        if kind == kinds.PAIR:
            items = (("item", CALLER_LEVELS, value, index) for index in range(_MAX_ITEMS))
            return join(map(self._ctx.solve, items))
        return self._ctx.solve(("each", CALLER_LEVELS, value))

    def _call_results(self, value: Value) -> Values:
        if value[0] == kinds.BOUND:
            return self._call_results(value[1])
        if value[0] == kinds.FUNCTION:
            return self._ctx.solve(("result", CALLER_LEVELS, value[1], value[2]))
        if value[0] in {kinds.INSTANCE, kinds.SELF}:
            return self._ctx.solve(("special", CALLER_LEVELS, value, "__call__"))
        return instances_of(((value, 0),)) if value[0] in {kinds.CLASS, kinds.OWN_CLASS} else ()
