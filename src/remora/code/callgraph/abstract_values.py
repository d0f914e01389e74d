"""Abstract values used by the points-to analysis, and the tiers that rank their certainty.

A value is a tuple whose first item is one of the kinds below. The other items usually identify
where the value was defined: the path of the file, and the number of the scope, call or container.
`Values` is a tuple of values, each paired with a tier.
"""

from collections.abc import Iterable
from typing import Any

Value = tuple[Any, ...]
Values = tuple[tuple[Value, int], ...]

EXACT, INFERRED, UNIQUE, POSSIBLE = range(4)

FUNCTION = "function"  # path, scope; also a lambda
CLASS = "class"  # path, scope
INSTANCE = "instance"  # path, scope
SELF = "self"  # path, scope: instance of the class or a subclass
OWN_CLASS = "cls"  # path, scope: the class or a subclass
MODULE = "module"  # path
NAMESPACE = "namespace"  # folder
EXTERNAL = "external"  # dotted name
OPAQUE = "opaque"  # external, name unknown; or name of the type, and beginning of a string
BOUND = "bound"  # function, receiver
DISPATCHED = "dispatched"  # receiver, beginning of the names of its functions
SUPER = "super"  # class to search behind, receiver, name of the method
CONTAINER = "container"  # path, number
BUILT_CONTAINER = "built"  # path, call: a container made by list(…), zip(…) and so on
TYPED_CONTAINER = "typed"  # value: a container of such values
PAIR = "pair"  # container: (key, item)
CONTAINER_METHOD = "method"  # container, name
VARIADIC = "rest"  # path, scope, parameter: of *args or **kwargs
GENERATOR = "generator"  # path, scope
COROUTINE = "coroutine"  # path, scope
PARTIAL = "partial"  # path, call
PROPERTY = "property"  # path, call
IDENTITY = "wraps"  # returns its argument

EMPTY: Values = ()
TOP: Values = (((OPAQUE,), INFERRED), (("anything",), INFERRED))
"""Too many values to follow. A join with TOP is TOP."""
_MAX_VALUES = 32


def exact_value(*value: Any) -> Values:
    return ((value, EXACT),)


def join(parts: Iterable[Values]) -> Values:
    """Return the union of `parts`. A value that occurs several times keeps its smallest tier."""
    known = [part for part in parts if part]
    if len(known) < 2:
        return known[0] if known else EMPTY
    best: dict[Value, int] = {}
    for part in known:
        if part is TOP:
            return TOP
        for value, tier in part:
            if best.get(value, POSSIBLE) >= tier:
                best[value] = tier
    return TOP if len(best) > _MAX_VALUES else tuple(best.items())


def weaken(values: Values) -> Values:
    """Return the values with tier EXACT replaced by INFERRED."""
    if values is TOP or all(tier for _, tier in values):
        return values
    return tuple((value, tier or INFERRED) for value, tier in values)
