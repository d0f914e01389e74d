"""The order in which a class and its bases are searched, as Python computes it (C3)."""

from collections.abc import Sequence

from remora.code.resolve.values import Value


def linearize(own: Value, orders: Sequence[list[Value]], bases: list[Value]) -> list[Value]:
    """`own` first, then a merge of the bases' orders; where Python would refuse, depth first."""
    waiting = [list(order) for order in (*orders, bases) if order]
    merged = [own]
    while waiting:
        chosen = next((o[0] for o in waiting if _free(o[0], waiting)), None)
        if chosen is None:
            return list(dict.fromkeys([*merged, *(v for order in waiting for v in order)]))
        merged.append(chosen)
        waiting = [rest for order in waiting if (rest := [v for v in order if v != chosen])]
    return merged


def _free(value: Value, waiting: list[list[Value]]) -> bool:
    return all(value not in order[1:] for order in waiting)
