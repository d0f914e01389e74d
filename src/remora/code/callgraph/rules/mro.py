"""The order in which a class and its bases are searched, as Python computes it (C3)."""

from collections import Counter
from collections.abc import Sequence

from remora.code.callgraph.abstract_values import Value

_LONGEST = 256
"""Classes of one order; a program in which each derives from the one before may have thousands."""


def linearize(own: Value, orders: Sequence[list[Value]], bases: list[Value]) -> list[Value]:
    """`own` first, then a merge of the bases' orders; where Python would refuse, depth first."""
    if len(orders) == 1:
        return list(dict.fromkeys([own, *orders[0]]))[:_LONGEST]
    waiting = [list(dict.fromkeys(order)) for order in (*orders, bases) if order]
    merged = [own]
    later = Counter(value for order in waiting for value in order[1:])
    places = [0] * len(waiting)
    while len(merged) < _LONGEST:
        heads = [order[at] for order, at in zip(waiting, places, strict=True) if at < len(order)]
        if not heads:
            break
        chosen = next((head for head in heads if not later[head]), None)
        if chosen is None:
            rest = (v for order, at in zip(waiting, places, strict=True) for v in order[at:])
            return list(dict.fromkeys([*merged, *rest]))[:_LONGEST]
        merged.append(chosen)
        for number, order in enumerate(waiting):
            at = places[number]
            if at < len(order) and order[at] == chosen:
                places[number] += 1
                later.subtract(order[at + 1 : at + 2])
    return merged
