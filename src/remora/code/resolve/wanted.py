"""Whether a value leads to the node whose callers are sought."""

from remora.code.resolve.context import Context
from remora.code.resolve.flows import Flow
from remora.code.resolve.sites import LEVEL, frozen
from remora.code.resolve.terms import instances
from remora.code.resolve.values import (
    BOUND,
    CLASS,
    EXTERNAL,
    FUNCTION,
    INSTANCE,
    MODULE,
    NAMESPACE,
    OPAQUE,
    OWN_CLASS,
    SELF,
    SUPER,
    TOP,
    Value,
    Values,
    join,
)

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

    def _among(self, values: Values, depth: int) -> bool:
        if values is TOP:
            return False
        if any(self._fits(value) for value, _ in values):
            return True
        if not depth:
            return False
        return self._among(join([self._called(value) for value, _ in values]), depth - 1)

    def _fits(self, value: Value) -> bool:
        if value[0] == BOUND:
            return self._fits(value[1])
        if value[0] not in _PLAIN:
            return True
        return value[0] in self._kinds and (value[1], value[2]) in self._places

    def _called(self, value: Value) -> Values:
        if value[0] == BOUND:
            return self._called(value[1])
        if value[0] == FUNCTION:
            return self._ctx.solve(("result", LEVEL, value[1], value[2]))
        if value[0] in {CLASS, OWN_CLASS}:
            return instances(((value, 0),))
        return ()
