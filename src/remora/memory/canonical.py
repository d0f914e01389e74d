"""One JSON spelling for hashing, and the forms that odd values take in packets and streams."""

import base64
import math
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

_SORTED = msgspec.json.Encoder(order="sorted")
_PLAIN_INT = 2**53
_STORED_INT_MIN, _STORED_INT_MAX = -(2**63), 2**64 - 1
MAX_DEPTH = 64
TOO_DEEP = "<nested beyond 64 levels>"


def canonical(value: Any) -> bytes:
    """Canonical JSON: keys sorted by code point, `,` and `:`, no ASCII escaping, UTF-8.

    The same bytes as the standard library's `json.dumps(value, sort_keys=True,
    separators=(",", ":"), ensure_ascii=False)`, for values that `plain` or `storable` gave.
    """
    return _SORTED.encode(value)


def canonical_sha256(value: Any) -> str:
    """Lower-case hex SHA-256 of the canonical JSON."""
    return sha256(canonical(value)).hexdigest()


def escape_surrogates(text: str) -> str:
    r"""`text` with each lone surrogate spelled out as the six characters `\udXXX`."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def plain(value: Any) -> Any:
    """`value` as a packet may hold it.

    Integers within ±2^53 stay; any other number becomes its `repr` string, lone surrogates
    text, nesting beyond 64 levels the string `TOO_DEEP`, what JSON lacks its `repr`.
    """
    return _convert(value, _plain_leaf, 0)


def storable(value: Any) -> Any:
    """`value` as a stream holds it: JSON as it is, the rest in a marked form.

    NaN and infinities become `{"$float": "nan"}`, integers beyond 64 bits `{"$int": "…"}`, bytes
    and strings with lone surrogates `{"$bytes": base64}` and `{"$text": base64 of UTF-8 with
    surrogates}`, other objects `{"$repr": "…"}`, nesting beyond 64 levels `TOO_DEEP`.
    """
    return _convert(value, _stored_leaf, 0)


def _convert(value: Any, leaf: Callable[[Any], Any], depth: int) -> Any:
    kind = type(value)
    if kind is str and value.isascii():
        return value
    if kind is dict or isinstance(value, Mapping):
        if depth >= MAX_DEPTH:
            return TOO_DEEP
        return {_key(k): _convert(v, leaf, depth + 1) for k, v in value.items()}
    if kind is list or kind is tuple:
        if depth >= MAX_DEPTH:
            return TOO_DEEP
        return [_convert(v, leaf, depth + 1) for v in value]
    return leaf(value)


def _key(key: Any) -> str:
    return escape_surrogates(key if isinstance(key, str) else str(key))


def _plain_leaf(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -_PLAIN_INT <= value <= _PLAIN_INT:
        return int(value)
    return escape_surrogates(value if isinstance(value, str) else repr(value))


def _stored_leaf(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if _STORED_INT_MIN <= value <= _STORED_INT_MAX else {"$int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, str):
        return _stored_text(value)
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    return {"$repr": escape_surrogates(repr(value))}


def _stored_text(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        return {"$text": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()}
    return text
