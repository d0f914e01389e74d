"""What a term may stand for: values and how surely they are known.

A value is a tuple that begins with one of the kinds below and goes on with its place: the path of
its file and the number of its scope, call or container there. `Values` pairs each with a tier, so
that joining two of them is the smaller tier of each value.
"""

from collections.abc import Iterable
from typing import Any

Value = tuple[Any, ...]
Values = tuple[tuple[Value, int], ...]

EXACT, INFERRED, UNIQUE = range(3)

FUNCTION = "function"  # path, scope: a lambda too
CLASS = "class"  # path, scope
INSTANCE = "instance"  # path, scope
SELF = "self"  # path, scope: of the class or of one derived from it
OWN_CLASS = "cls"  # path, scope: the class or one derived from it
MODULE = "module"  # path
NAMESPACE = "namespace"  # folder
EXTERNAL = "external"  # dotted name
OPAQUE = "opaque"  # from outside the project, of no known name
BOUND = "bound"  # function, receiver
SUPER = "super"  # path, scope of the class, receiver
CONTAINER = "container"  # path, number
BUILT = "built"  # path, call: a container made by list(…), zip(…), …
TYPED = "typed"  # value: a container of such
PAIR = "pair"  # container: (key, item)
METHOD = "method"  # container, name: its method
REST = "rest"  # path, scope, parameter: of *args or **kwargs
GENERATOR = "generator"  # path, scope
COROUTINE = "coroutine"  # path, scope
PARTIAL = "partial"  # path, call
PROPERTY = "property"  # path, call
WRAPS = "wraps"  # gives back what it is called with

EMPTY: Values = ()
TOP: Values = (((OPAQUE,), INFERRED), (("anything",), INFERRED))
"""More than can be followed: nothing is added to it any more."""
_MOST = 32


def one(*value: Any) -> Values:
    """A single value, known exactly."""
    return ((value, EXACT),)


def join(parts: Iterable[Values]) -> Values:
    """Everything in `parts`, each value with its best tier."""
    known = [part for part in parts if part]
    if len(known) < 2:
        return known[0] if known else EMPTY
    best: dict[Value, int] = {}
    for part in known:
        if part is TOP:
            return TOP
        for value, tier in part:
            if best.get(value, UNIQUE) >= tier:
                best[value] = tier
    return TOP if len(best) > _MOST else tuple(best.items())


def weaken(values: Values) -> Values:
    """The same values, none of them exact."""
    if values is TOP or all(tier for _, tier in values):
        return values
    return tuple((value, tier or INFERRED) for value, tier in values)
