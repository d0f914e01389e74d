"""Decoding of values that `encode_values` stored in tagged form."""

import base64
import re
from collections.abc import Callable, Iterable
from typing import Any

_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_INT = re.compile(r"-?(0x[0-9a-f]+|[0-9]+)")
_ESCAPED = re.compile(r"\$\$+(float|int|bytes|text|repr|dict)")
_BAD_FORM = (ValueError, TypeError, KeyError)


def decode_value(value: Any) -> Any:
    """Return a copy of `value` with tagged forms decoded. This is the inverse of `encode_value`.

    `{"$repr": …}` and forms that `encode_value` never writes are left unchanged. Accepts JSON
    values of any depth. Resolve blob references first (`remora.trace.read.blobs`).
    """
    top = [value]
    places: list[tuple[Any, Any]] = [(top, 0)]
    for place, key in places:  # grows: each container comes before the containers in it
        if isinstance(place[key], (dict, list)):
            place[key] = place[key].copy()
            places += [(place[key], inner) for inner in _keys(place[key])]
    for place, key in reversed(places):
        place[key] = _decode_mark(place[key])
    return top[0]


def _keys(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container if isinstance(container, dict) else range(len(container))


def _decode_mark(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((key, stored),) = value.items()
    if not isinstance(key, str) or not key.startswith("$"):
        return value
    if _ESCAPED.fullmatch(key):
        return {key[1:]: stored}
    read = _READERS.get(key)
    try:
        return value if read is None else read(stored)
    except _BAD_FORM:
        return value


def _int(stored: str) -> int:
    if not _INT.fullmatch(stored):
        raise ValueError(stored)
    return int(stored, 0)


def _bytes(stored: str) -> bytes:
    return base64.b64decode(stored, validate=True)


def _dict(stored: Any) -> dict[Any, Any]:
    if not isinstance(stored, list) or not all(isinstance(pair, list) for pair in stored):
        raise TypeError("not a list of pairs")
    return {_key(key): item for key, item in stored}


def _key(stored: Any) -> Any:
    """Decode a dict key.

    A list becomes a tuple, because tuples are the only hashable values that are stored as lists.
    """
    return tuple(map(_key, stored)) if isinstance(stored, list) else stored


_READERS: dict[str, Callable[[Any], Any]] = {
    "$float": _FLOATS.__getitem__,
    "$int": _int,
    "$bytes": _bytes,
    "$text": lambda stored: _bytes(stored).decode("utf-8", "surrogatepass"),
    "$dict": _dict,
}
