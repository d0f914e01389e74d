"""One JSON spelling for hashing, and the forms that odd values take in packets and streams."""

import base64
import json
import math
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

_PLAIN_INT = 2**53
_STORED_INT_MIN, _STORED_INT_MAX = -(2**63), 2**64 - 1
_MARK = re.compile(r"\$+(float|int|bytes|text|repr|dict|deep|at)")
_LEAVES = frozenset({str, int, float, bool, type(None)})
_CONTAINERS = (dict, list, tuple, Mapping)
MAX_DEPTH = 64
TOO_DEEP = "<nested beyond 64 levels>"
CYCLE = "<contains itself>"


def canonical(value: Any) -> bytes:
    """Canonical JSON: keys sorted by code point, `,` and `:`, no ASCII escaping, UTF-8.

    For values that `plain` or `storable` gave, and records that hold them.
    """
    # the standard library itself, for its spelling of floats: msgspec writes 1e16 for 1e+16
    return json.dumps(
        msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def canonical_size(value: Any) -> int:
    """Bytes of the canonical JSON of what `plain` gave; about seven times as fast as making it."""
    return len(msgspec.json.encode(value))


def canonical_sha256(value: Any) -> str:
    """Lower-case hex SHA-256 of the canonical JSON."""
    return sha256(canonical(value)).hexdigest()


def escape_surrogates(text: str) -> str:
    r"""`text` with each lone surrogate spelled out as the six characters `\udXXX`."""
    if text.isascii():
        return str.__str__(text)  # the text alone of a subclass
    return text.encode("utf-8", "backslashreplace").decode()


def plain(value: Any) -> Any:
    """`value` as a packet may hold it.

    Integers within ±2^53 stay; any other number becomes its `repr` string, lone surrogates
    text, nesting beyond 64 levels the string `TOO_DEEP`, a container inside itself `CYCLE`, what
    JSON lacks its `repr`. Total: takes whatever there is.
    """
    return _plain(value, ())


def storable(value: Any) -> Any:
    """`value` as a stream holds it: JSON as it is, the rest in a marked form. Nothing is lost
    of text, bytes, numbers, and lists and mappings of them; `unstorable` gives them back.

    | value | form |
    |---|---|
    | NaN and infinities | `{"$float": "nan"}` |
    | integers beyond 64 bits | `{"$int": "…"}`, hexadecimal where Python writes no digits |
    | bytes | `{"$bytes": base64}` |
    | text with lone surrogates | `{"$text": base64 of UTF-8 with surrogates}` |
    | mappings with a key that is no such text | `{"$dict": [[key, value], …]}` |
    | a container at level 65 | `{"$deep": [container, …]}`, `{"$at": n}` in it for the n-th |
    | other objects | `{"$repr": "…"}`, for a container inside itself `CYCLE` |

    A mapping of its own whose only key is such a mark gets one more `$` before it. Tuples become
    lists, what is derived from text or numbers becomes plain. Total: takes whatever there is.
    """
    return _stored(value, ())


def _plain(value: Any, around: tuple[int, ...]) -> Any:
    """`around` are the ids of the containers that hold `value`, outermost first."""
    kind = type(value)
    if kind is str and value.isascii():
        return value
    if kind in _LEAVES or not isinstance(value, _CONTAINERS):
        return _plain_leaf(value)
    if id(value) in around:
        return CYCLE
    if len(around) >= MAX_DEPTH:
        return TOO_DEEP
    around = (*around, id(value))
    if isinstance(value, (list, tuple)):
        return [_plain(v, around) for v in value]
    return {plain_key(k): _plain(v, around) for k, v in value.items()}


def _stored(value: Any, around: tuple[int, ...]) -> Any:
    """`around` as of `_plain`."""
    kind = type(value)
    if kind is str and value.isascii():
        return value
    if kind in _LEAVES or not isinstance(value, _CONTAINERS):
        return _stored_leaf(value)
    if id(value) in around:
        return {"$repr": CYCLE}
    if len(around) >= MAX_DEPTH:
        return {"$deep": _nodes(value, around)}
    around = (*around, id(value))
    if isinstance(value, (list, tuple)):
        return [_stored(v, around) for v in value]
    return {k: _stored(v, around) for k, v in _named(value).items()}


def _named(value: Mapping[Any, Any]) -> Mapping[str, Any]:
    """A mapping with keys as JSON has them, and that no mark's reader takes for a mark."""
    if not all(map(_is_name, value)):
        if not all(isinstance(key, str) and _encodable(key) for key in value):
            return {"$dict": [[key, item] for key, item in value.items()]}
        value = {str.__str__(key): item for key, item in value.items()}
    if len(value) == 1:
        ((key, item),) = value.items()
        if _MARK.fullmatch(key):
            return {f"${key}": item}
    return value


def _is_name(key: Any) -> bool:
    return type(key) is str and (key.isascii() or _encodable(key))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _nodes(value: Any, around: tuple[int, ...]) -> list[Any]:
    """Every container of `value` by itself, `value` first, each before those that it holds."""
    nodes: list[Any] = []
    path = set(around)
    places: list[tuple[Any, Any]] = [([value], 0)]
    while places:
        place, key = places.pop()
        if place is None:  # all that is in this container was seen
            path.remove(id(key))
            continue
        item = place[key]
        if type(item) in _LEAVES or not isinstance(item, _CONTAINERS):
            place[key] = _stored_leaf(item)
        elif id(item) in path:
            place[key] = {"$repr": CYCLE}
        else:
            place[key] = {"$at": len(nodes)}
            node: Any = list(item) if isinstance(item, (list, tuple)) else dict(_named(item))
            nodes.append(node)
            path.add(id(item))
            places.append((None, item))  # holds on to it, so that its id stays its own
            places += [(node, k) for k in (range(len(node)) if type(node) is list else node)]
    return nodes


def plain_key(key: Any) -> str:
    """A key as JSON may have it: text without lone surrogates, other values as their `repr`."""
    if type(key) is str and key.isascii():
        return key
    return escape_surrogates(key if isinstance(key, str) else _spelled(key))


def _spelled(value: Any) -> str:
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
    return escape_surrogates(value if isinstance(value, str) else _spelled(value))


def _stored_leaf(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        fits = _STORED_INT_MIN <= value <= _STORED_INT_MAX
        return int(value) if fits else {"$int": _spelled(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": _spelled(value)}
    if isinstance(value, str):
        return _stored_text(value)
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    return {"$repr": escape_surrogates(_spelled(value))}


def _stored_text(text: str) -> Any:
    if _encodable(text):
        return str.__str__(text)
    return {"$text": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()}
