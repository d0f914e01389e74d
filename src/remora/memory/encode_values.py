"""Encoding of values that JSON cannot represent, so that recorded values never change silently."""

import base64
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from remora.memory.canonical import (
    CONTAINERS,
    CYCLE,
    LEAVES,
    MAX_DEPTH,
    TOO_DEEP,
    canonical_sha256,
    safe_repr,
)
from remora.text import escape_surrogates, is_utf8

_STORED_INT_MIN, _STORED_INT_MAX = -(2**63), 2**64 - 1
"""Integers that msgspec decodes as they are."""
_MARK = re.compile(r"\$+(float|int|bytes|text|repr|dict)")
_INSPECTED_LEVELS = 40
"""Levels of a value that `is_stored_unchanged` inspects. Recorded values have fewer."""


def encode_value(value: Any) -> Any:
    """Return `value` in the form that streams store.

    JSON values are unchanged, and all other values are tagged. Strings, bytes, numbers, and lists
    and mappings of them are encoded without loss up to 64 levels, and `decode_value` restores them.

    | value | form |
    |---|---|
    | NaN and infinities | `{"$float": "nan"}` |
    | integers beyond 64 bits | `{"$int": "…"}`, hexadecimal above Python's digit limit |
    | bytes | `{"$bytes": base64}` |
    | strings with lone surrogates | `{"$text": base64 of UTF-8 with surrogates}` |
    | mappings with keys that are not valid UTF-8 strings | `{"$dict": [[key, value], …]}` |
    | other objects | `{"$repr": "…"}`, with `CYCLE` for a container that contains itself, and
    `TOO_DEEP` for one at the 65th level |

    If a mapping's only key looks like a tag, the key is prefixed with another `$`. Tuples become
    lists. Instances of subclasses of strings and numbers become instances of the base type. Never
    raises.
    """
    return _encode(value, ())


def encoded_sha256(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of the encoded value."""
    return canonical_sha256(encode_value(value))


def is_stored_unchanged(value: Any, depth: int = _INSPECTED_LEVELS) -> bool:
    """Return True if `encode_value` would change nothing except lone surrogates.

    A result of False is inconclusive.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        fits: bool = _STORED_INT_MIN <= value <= _STORED_INT_MAX
        return fits
    if kind is float:
        return math.isfinite(value)
    return depth > 0 and _contents_stored_unchanged(value, kind, depth - 1)


def _contents_stored_unchanged(value: Any, kind: type, depth: int) -> bool:
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not is_stored_unchanged(item, depth):
                return False
        return len(value) != 1 or not next(iter(value)).startswith("$")  # may be a mark
    if kind is list or kind is tuple:
        return _all_stored_unchanged(value, depth)
    if isinstance(value, msgspec.Struct):
        return _all_stored_unchanged([getattr(value, n) for n in value.__struct_fields__], depth)
    return False


def _all_stored_unchanged(values: Sequence[Any], depth: int) -> bool:
    for value in values:  # noqa: SIM110 - a generator would double the cost
        if not is_stored_unchanged(value, depth):
            return False
    return True


def _encode(value: Any, ancestors: tuple[int, ...]) -> Any:
    """Encode `value`. `ancestors` are the ids of the containers around it, outermost first."""
    kind = type(value)
    if kind is str and value.isascii():
        return value
    if kind in LEAVES or not isinstance(value, CONTAINERS):
        return _encode_leaf(value)
    if id(value) in ancestors:
        return {"$repr": CYCLE}
    if len(ancestors) >= MAX_DEPTH:
        return {"$repr": TOO_DEEP}
    ancestors = (*ancestors, id(value))
    if isinstance(value, (list, tuple)):
        return [_encode(v, ancestors) for v in value]
    return {k: _encode(v, ancestors) for k, v in _with_safe_keys(value).items()}


def _with_safe_keys(value: Mapping[Any, Any]) -> Mapping[str, Any]:
    """Return a mapping whose keys are valid JSON keys and cannot be mistaken for a tag."""
    if not all(type(key) is str and is_utf8(key) for key in value):
        if not all(isinstance(key, str) and is_utf8(key) for key in value):
            return {"$dict": [[key, item] for key, item in value.items()]}
        value = {str.__str__(key): item for key, item in value.items()}
    if len(value) == 1:
        ((key, item),) = value.items()
        if _MARK.fullmatch(key):
            return {f"${key}": item}
    return value


def _encode_leaf(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        fits = _STORED_INT_MIN <= value <= _STORED_INT_MAX
        return int(value) if fits else {"$int": safe_repr(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": safe_repr(value)}
    if isinstance(value, str):
        return _encode_text(value)
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    return {"$repr": escape_surrogates(safe_repr(value))}


def _encode_text(text: str) -> Any:
    if is_utf8(text):
        return str.__str__(text)
    return {"$text": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()}
