"""What to say of a node that does not exist: which ones are near."""

import heapq
from collections.abc import Iterable

from remora.code.syntax.node_patterns import nearest
from remora.errors import NotFound
from remora.ids import split_node_key

_ENOUGH = 2000
_SHOWN, _LOOKED_AT = 3, 9
_ASIDE = {"tests", "test", "examples", "example", "docs", "bench", "benchmarks"}


def unknown_node(name: str, keys: Iterable[str]) -> NotFound:
    """The error for a name, or a key, that none of `keys` is."""
    near = _nearest(name, near_pool(name, keys))
    shown = ", ".join(key.removeprefix("node:") for key in near)
    hint = f"did you mean {shown}?" if near else "`remora hub search WORD` looks for nodes"
    return NotFound(f"there is no node {name.removeprefix('node:')}", hint=hint)


def _nearest(name: str, pool: Iterable[str]) -> list[str]:
    """What people look for is seldom a test or an example, unless they say so."""
    near = nearest(name, pool, _LOOKED_AT)
    wants_aside = any(word in name.casefold() for word in ("test", "example"))
    return sorted(near, key=lambda key: not wants_aside and _is_aside(key))[:_SHOWN]


def _is_aside(key: str) -> bool:
    return not _ASIDE.isdisjoint(split_node_key(key)[0].split("/")[:-1])


def near_pool(name: str, keys: Iterable[str]) -> list[str]:
    """Those worth comparing: all of `keys` where they are few, else those whose last names share most pairs of letters
    with the last name of `name`: a whole comparison of 50,000 would take a second."""
    known = list(keys)
    if len(known) <= _ENOUGH:
        return known
    wanted = _pairs(name)
    return heapq.nlargest(_ENOUGH, known, key=lambda key: len(wanted & _pairs(key)))


def _pairs(key: str) -> set[str]:
    last = key[max(key.rfind("."), key.rfind(":")) + 1 :].casefold()
    return {last[at : at + 2] for at in range(len(last) - 1)}
