"""Method resolution order (C3 linearization)."""

from collections import Counter
from collections.abc import Sequence

from remora.code.callgraph.abstract_values import Value

_MAX_CLASSES = 256
"""Maximum length of an MRO; a chain of subclasses may have thousands of classes."""


def linearize(own: Value, orders: Sequence[list[Value]], bases: list[Value]) -> list[Value]:
    """Return `own` and the merged orders of its bases; depth first where Python would refuse."""
    if len(orders) == 1:
        return list(dict.fromkeys([own, *orders[0]]))[:_MAX_CLASSES]
    pending = [list(dict.fromkeys(order)) for order in (*orders, bases) if order]
    merged = [own]
    tails = Counter(value for order in pending for value in order[1:])
    positions = [0] * len(pending)
    while len(merged) < _MAX_CLASSES:
        heads = [order[at] for order, at in zip(pending, positions, strict=True) if at < len(order)]
        if not heads:
            break
        if (chosen := next((head for head in heads if not tails[head]), None)) is None:
            rest = (v for order, at in zip(pending, positions, strict=True) for v in order[at:])
            return list(dict.fromkeys([*merged, *rest]))[:_MAX_CLASSES]
        merged.append(chosen)
        for number, order in enumerate(pending):
            at = positions[number]
            if at < len(order) and order[at] == chosen:
                positions[number] += 1
                tails.subtract(order[at + 1 : at + 2])
    return merged
