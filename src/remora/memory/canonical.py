"""Canonical and plain JSON, and conversion of arbitrary values to packet values."""

import json
import re
from collections import deque
from collections.abc import Mapping, Set, ValuesView
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

from remora.memory.terminal_text import HAS_ESCAPE, shown_text
from remora.text import escape_surrogates

_MAX_INT = 2**53
LEAVES = frozenset({str, int, float, bool, type(None)})
CONTAINERS = (dict, list, tuple, Mapping)
"""Types of leaves and of containers."""
MAX_DEPTH = 64
TOO_DEEP = "<nested beyond 64 levels>"
CYCLE = "<contains itself>"
MAX_ITEMS = 100_000
"""Numbers of an array that are read. A larger one has its own short form."""
_OF_RECORD = frozenset({"__repr__", "__dataclass_fields__", "__attrs_attrs__"})
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{6,}(?=[>,;]|$)")


def canonical(value: Any) -> bytes:
    """Return `value` as canonical JSON, encoded in UTF-8.

    Keys are sorted by code point. There is no whitespace, and non-ASCII characters are not escaped.
    Accepts only results of `to_packet_value` and `encode_value`, and records that contain them.
    """
    # not msgspec, which writes 1e16 where the standard library writes 1e+16
    return json.dumps(
        msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def canonical_size(value: Any) -> int:
    """Return the size of a value's canonical JSON in bytes, seven times as fast as `canonical`."""
    return len(msgspec.json.encode(value))


def canonical_sha256(value: Any) -> str:
    """Return the lower-case hex SHA-256 of the canonical JSON."""
    from hashlib import sha256  # imported on first use, as it is slow

    return sha256(canonical(value)).hexdigest()


def json_text(value: Any) -> str:
    """Return a value as JSON, without reordering its keys."""
    return msgspec.json.encode(value).decode()


def to_packet_value(value: Any) -> Any:
    """Convert `value` to a form that packets can contain. Never raises.

    Equal values have the same form in each process. Integers within ±2^53 are kept. Records become
    mappings, sets sorted lists, and bytes, paths, dates, UUIDs, errors and members of enums texts;
    other numbers and other objects are replaced with their `repr`, without addresses, in which the
    order of a set may differ between processes. Escape sequences of terminals
    are left out, and lone surrogates are escaped. Containers nested deeper than 64 levels are
    replaced with `TOO_DEEP`, and a container that contains itself is replaced with `CYCLE`.
    """
    return _to_plain(value, ())


def _to_plain(value: Any, ancestors: tuple[int, ...]) -> Any:
    """Convert `value`. `ancestors` are the ids of the containers around it, outermost first."""
    kind = type(value)
    if kind is str and value.isascii() and "\x1b" not in value:
        return value
    opened = value if kind in LEAVES or kind in CONTAINERS else parts_of(value)
    if kind in LEAVES or (opened is value and not isinstance(value, CONTAINERS)):
        return _plain_leaf(value)
    if id(value) in ancestors or len(ancestors) >= MAX_DEPTH:
        return CYCLE if id(value) in ancestors else TOO_DEEP
    ancestors = (*ancestors, id(value))
    if isinstance(opened, (list, tuple)):
        plain = [_to_plain(item, ancestors) for item in opened]
        return sorted(plain, key=canonical) if isinstance(value, Set) else plain
    if isinstance(opened, Mapping):
        return {to_packet_key(key): _to_plain(item, ancestors) for key, item in opened.items()}
    return _to_plain(opened, ancestors)


def parts_of(value: Any) -> Any:
    """Return the parts of a record or array, and the text of a path, a date or an enum's member.

    Any other value is returned as it is, as is a record with its own `repr`. Of a record with a
    generated `repr`, only the fields that this shows as they are become parts.
    """
    if type(value) in LEAVES or isinstance(value, (*CONTAINERS, str, int, float, type)):
        return value
    with suppress(Exception):  # user code; its value must still be shown
        return _parts_of(value, type(value))
    return value


def _parts_of(value: Any, kind: Any) -> Any:
    if isinstance(value, (Set, ValuesView, deque)):
        return [*value]
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name
    if (record := _record(value, kind)) is not None:
        return record
    if hasattr(kind, "tolist") and value.size <= MAX_ITEMS:  # of NumPy
        return parts_of(value.tolist())
    return _text_of(value, kind)


def _text_of(value: Any, kind: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return value.decode(errors="replace")
    if isinstance(value, BaseException):
        return _ADDRESS.sub("", f"{kind.__name__}: {value}".removesuffix(": "))
    is_text = isinstance(value, (PurePath, Decimal, UUID, timedelta, range))
    return str(value) if is_text else value.isoformat() if hasattr(kind, "isoformat") else value


def _record(value: Any, kind: Any) -> dict[Any, Any] | None:
    shown = fields(value) if is_dataclass(value) else getattr(kind, "__attrs_attrs__", None)
    if shown is not None and _has_generated_repr(kind):
        return {field.name: getattr(value, field.name) for field in shown if field.repr is True}
    if hasattr(kind, "__repr_args__") and kind.__repr__.__module__.startswith("pydantic."):
        return dict(value.__repr_args__())
    return msgspec.structs.asdict(value) if kind.__repr__ is msgspec.Struct.__repr__ else None


def _has_generated_repr(kind: Any) -> bool:
    """Return True if the class that defines the fields has a `repr` of dataclasses or attrs."""
    owner = next(base for base in kind.__mro__ if not _OF_RECORD.isdisjoint(vars(base)))
    function = vars(owner).get("__repr__")  # an inherited one does not show the fields
    code = getattr(function, "__wrapped__", function).__code__
    made_by = f"{code.co_qualname} {code.co_filename}"
    return made_by.startswith(("__create_fn__.", "__repr__ <attrs generated "))


def to_packet_key(key: Any) -> str:
    """Convert `key` to a valid JSON key, as `to_packet_value` converts a text.

    A key that is not a string is replaced with its `repr`, or with the JSON of its parts.
    """
    if type(key) is str and key.isascii() and "\x1b" not in key:
        return key
    is_leaf = parts_of(key) is key and not isinstance(key, tuple)
    plain = _plain_leaf(key) if is_leaf else to_packet_value(key)
    text = safe_repr(plain) if plain is None or isinstance(plain, (bool, int)) else plain
    return text if isinstance(text, str) else canonical(text).decode()


def safe_repr(value: Any) -> str:
    """Return the `repr` of `value`, or `<TYPE>` if `repr` raises an exception. Never raises.

    An integer that exceeds Python's digit limit is formatted in hexadecimal.
    """
    try:
        return float.__repr__(value) if isinstance(value, float) else repr(value)
    except Exception:  # noqa: BLE001 - user code; its value must still be recorded
        return hex(value) if isinstance(value, int) else f"<{type(value).__name__}>"


def _plain_leaf(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -_MAX_INT <= value <= _MAX_INT:
        return int(value)
    text = value if isinstance(value, str) else _ADDRESS.sub("", safe_repr(value))
    return escape_surrogates(shown_text(text) if HAS_ESCAPE.search(text) else text)
