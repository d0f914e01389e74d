"""Values as they were before they became storable, read from their marked forms."""

import base64
import re
from collections.abc import Callable, Iterable
from typing import Any

_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_INT = re.compile(r"-?(0x[0-9a-f]+|[0-9]+)")
_ESCAPED = re.compile(r"\$\$+(float|int|bytes|text|repr|dict|deep|at)")
_WRONG = (ValueError, TypeError, KeyError)


def decode_value(value: Any) -> Any:
    """The inverse of `storable`: a copy in which marked forms are what they stand for.

    `{"$repr": …}` stays, for an object cannot be had back, and so does a form that is not as
    `storable` writes it. Total for JSON values of any depth; the copy may be as deep as what was
    stored. Long texts that were moved to a blob are resolved before (`remora.trace.blobs`).
    """
    top = [value]
    places: list[tuple[Any, Any]] = [(top, 0)]
    for place, key in places:  # grows: a container before those that it holds
        copy = place[key] = _opened(place[key])
        places += [(copy, k) for k, v in _members(copy) if isinstance(v, (dict, list))]
    for place, key in reversed(places):
        place[key] = _unmarked(place[key])
    return top[0]


def _members(container: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(container, dict):
        return container.items()
    return enumerate(container) if isinstance(container, list) else ()


def _opened(value: Any) -> Any:
    """A copy of one level; in place of a `$deep` form the container that it stands for."""
    if isinstance(value, list):
        return list(value)
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and isinstance(nodes := value.get("$deep"), list):
        joined = _joined(nodes) if nodes else None
        return dict(value) if joined is None else joined
    return dict(value)


def _joined(nodes: list[Any]) -> Any:
    """The first node with every other one in its place; None where that makes no tree."""
    if not all(isinstance(node, (dict, list)) for node in nodes):
        return None
    copies = [node.copy() for node in nodes]
    left = set(range(1, len(nodes)))
    for number, node in enumerate(copies):
        for key, item in [*_members(node)]:
            if not isinstance(item, dict) or item.keys() != {"$at"}:
                continue
            inner = item["$at"]
            # behind its own place: so no node can come to hold itself
            if type(inner) is not int or inner <= number or inner not in left:
                return None
            left.remove(inner)
            node[key] = copies[inner]
    return None if left else copies[0]


def _unmarked(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((key, said),) = value.items()
    if not isinstance(key, str) or not key.startswith("$"):
        return value
    if _ESCAPED.fullmatch(key):
        return {key[1:]: said}
    read = _READERS.get(key)
    try:
        return value if read is None else read(said)
    except _WRONG:
        return value


def _int(said: str) -> int:
    if not _INT.fullmatch(said):
        raise ValueError(said)
    return int(said, 0)


def _bytes(said: str) -> bytes:
    return base64.b64decode(said, validate=True)


def _text(said: str) -> str:
    return _bytes(said).decode("utf-8", "surrogatepass")


def _dict(said: Any) -> dict[Any, Any]:
    if not isinstance(said, list) or not all(isinstance(pair, list) for pair in said):
        raise TypeError("no pairs")
    return {_key(key): item for key, item in said}


def _key(said: Any) -> Any:
    """A list that was a key was a tuple: nothing else that becomes a list can be one."""
    return tuple(map(_key, said)) if isinstance(said, list) else said


_READERS: dict[str, Callable[[Any], Any]] = {
    "$float": _FLOATS.__getitem__,
    "$int": _int,
    "$bytes": _bytes,
    "$text": _text,
    "$dict": _dict,
}
