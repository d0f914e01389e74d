"""Among very many nodes, those worth comparing with a name that does not exist."""

import heapq
from collections.abc import Iterable

_ENOUGH = 2000


def near_pool(name: str, keys: Iterable[str]) -> list[str]:
    """All of `keys` where they are few, else those whose last names share most pairs of letters
    with the last name of `name`: a whole comparison of 50,000 would take a second."""
    known = list(keys)
    if len(known) <= _ENOUGH:
        return known
    wanted = _pairs(name)
    return heapq.nlargest(_ENOUGH, known, key=lambda key: len(wanted & _pairs(key)))


def _pairs(key: str) -> set[str]:
    last = key[max(key.rfind("."), key.rfind(":")) + 1 :].casefold()
    return {last[at : at + 2] for at in range(len(last) - 1)}
