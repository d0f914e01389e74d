"""Canonical JSON: the one spelling that is hashed, of the values that a packet may hold."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

_PLAIN_INT = 2**53
LEAVES = frozenset({str, int, float, bool, type(None)})
CONTAINERS = (dict, list, tuple, Mapping)
"""What of a value is written as it is, and what holds others."""
MAX_DEPTH = 64
TOO_DEEP = "<nested beyond 64 levels>"
CYCLE = "<contains itself>"


def canonical(value: Any) -> bytes:
    """Canonical JSON: keys sorted by code point, `,` and `:`, no ASCII escaping, UTF-8.

    For values that `to_packet_value` or `storable` (`remora.memory.encode_values`) gave, and records that hold them.
    """
    # the standard library itself, for its spelling of floats: msgspec writes 1e16 for 1e+16
    return json.dumps(
        msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def canonical_size(value: Any) -> int:
    """Bytes of the canonical JSON of what `to_packet_value` gave; about seven times as fast as making it."""
    return len(msgspec.json.encode(value))


def canonical_sha256(value: Any) -> str:
    """Lower-case hex SHA-256 of the canonical JSON."""
    return sha256(canonical(value)).hexdigest()


def escape_surrogates(text: str) -> str:
    r"""`text` with each lone surrogate spelled out as the six characters `\udXXX`."""
    if text.isascii():
        return str.__str__(text)  # the text alone of a subclass
    return text.encode("utf-8", "backslashreplace").decode()


def to_packet_value(value: Any) -> Any:
    """`value` as a packet may hold it.

    Integers within ±2^53 stay; any other number becomes its `repr` string, lone surrogates
    text, nesting beyond 64 levels the string `TOO_DEEP`, a container inside itself `CYCLE`, what
    JSON lacks its `repr`. Total: takes whatever there is.
    """
    return _plain(value, ())


def _plain(value: Any, around: tuple[int, ...]) -> Any:
    """`around` are the ids of the containers that hold `value`, outermost first."""
    kind = type(value)
    if kind is str and value.isascii():
        return value
    if kind in LEAVES or not isinstance(value, CONTAINERS):
        return _plain_leaf(value)
    if id(value) in around:
        return CYCLE
    if len(around) >= MAX_DEPTH:
        return TOO_DEEP
    around = (*around, id(value))
    if isinstance(value, (list, tuple)):
        return [_plain(v, around) for v in value]
    return {to_packet_key(k): _plain(v, around) for k, v in value.items()}


def to_packet_key(key: Any) -> str:
    """A key as JSON may have it: text without lone surrogates, other values as their `repr`."""
    if type(key) is str and key.isascii():
        return key
    return escape_surrogates(key if isinstance(key, str) else safe_repr(key))


def safe_repr(value: Any) -> str:
    """The `repr` of an object; a hexadecimal number where Python refuses to write its digits."""
    try:
        if isinstance(value, float):
            return float.__repr__(value)
        return repr(value)
    except Exception:  # noqa: BLE001 - foreign code, and what it returned must be recorded
        return hex(value) if isinstance(value, int) else f"<{type(value).__name__}>"


def _plain_leaf(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -_PLAIN_INT <= value <= _PLAIN_INT:
        return int(value)
    return escape_surrogates(value if isinstance(value, str) else safe_repr(value))
