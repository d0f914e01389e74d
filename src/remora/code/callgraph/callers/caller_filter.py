"""Whether a value leads to the node whose callers are sought."""

from remora.code.callgraph.abstract_values import (
    BOUND,
    CLASS,
    COROUTINE,
    EXTERNAL,
    FUNCTION,
    INSTANCE,
    METHOD,
    MODULE,
    NAMESPACE,
    OPAQUE,
    OWN_CLASS,
    PAIR,
    PARTIAL,
    PROPERTY,
    SELF,
    SUPER,
    TOP,
    Value,
    Values,
    join,
)
from remora.code.callgraph.context import Context
from remora.code.callgraph.files.dataflow import Flow
from remora.code.callgraph.names.call_targets import LEVEL, frozen
from remora.code.callgraph.rules.evaluation import instances

_DEEPEST = 3
_PLACES = 4  # of what is taken apart: few are longer
_PLAIN = frozenset(
    (FUNCTION, CLASS, OWN_CLASS, INSTANCE, SELF, MODULE, NAMESPACE, EXTERNAL, OPAQUE, SUPER)
)
"""Kinds that hold nothing else."""


class Wanted:
    """Values of the given kinds and places, and whatever may hold one of them."""

    def __init__(self, ctx: Context, places: set[tuple[str, int]], kinds: tuple[str, ...]) -> None:
        self._ctx = ctx
        self._places = places
        self._kinds = kinds

    def proved(self, path: str, flow: Flow, depth: int) -> bool:
        """Whether the term, called `depth` times, may give one."""
        if flow.term is None:
            return True
        asked = ("term", LEVEL, path, flow.scope, flow.at, frozen(flow.term))
        return self._among(self._ctx.solve(asked), depth)

    def _among(self, values: Values, depth: int, nested: int = 0) -> bool:
        if values is TOP:
            return False
        if any(self._fits(value, nested) for value, _ in values):
            return True
        if not depth:
            return False
        return self._among(join([self._called(value) for value, _ in values]), depth - 1)

    def _fits(self, value: Value, nested: int) -> bool:
        if value[0] == BOUND:
            return self._fits(value[1], nested)
        if value[0] in self._kinds and (value[1], value[2]) in self._places:
            return True
        if value[0] in {INSTANCE, SELF} and FUNCTION in self._kinds:
            asked = ("class_attribute", 0, value[1], value[2], "__call__")
            return any(
                v[0] == FUNCTION and self._fits(v, nested) for v, _ in self._ctx.solve(asked)
            )
        if value[0] in _PLAIN:
            return False
        if nested > _DEEPEST:
            return True
        return self._among(self._held(value), 0, nested + 1)

    def _held(self, value: Value) -> Values:
        """What a value gives when it is iterated over, waited for, or called."""
        kind = value[0]
        if kind == METHOD:
            return self._held(value[1])
        if kind in {PARTIAL, PROPERTY}:
            asked = [("argument", LEVEL, value[1], value[2], place) for place in (0, 1)]
            return join([self._ctx.solve(question) for question in asked])
        if kind == COROUTINE:
            return self._ctx.solve(("returns", LEVEL, value[1], value[2]))
        if kind == PAIR:
            return join(
                [self._ctx.solve(("item", LEVEL, value, place)) for place in range(_PLACES)]
            )
        return self._ctx.solve(("each", LEVEL, value))

    def _called(self, value: Value) -> Values:
        if value[0] == BOUND:
            return self._called(value[1])
        if value[0] == FUNCTION:
            return self._ctx.solve(("result", LEVEL, value[1], value[2]))
        if value[0] in {INSTANCE, SELF}:
            return self._ctx.solve(("special", LEVEL, value, "__call__"))
        if value[0] in {CLASS, OWN_CLASS}:
            return instances(((value, 0),))
        return ()
