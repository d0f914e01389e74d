"""Values as source code, for the expected side of an assertion, or as text to compare."""

from __future__ import annotations

import contextlib
import enum
import inspect
import math
import re
import sys
from typing import Any, Dict, Iterable, List, Tuple

_STRING = 120
_MOST_ITEMS = 40
_DEEPEST = 5
_BITS = 200
_MOST_ATTRIBUTES = 3
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+|<[\w.]+ object|\bfunction ")
_BASES: Tuple[Any, ...] = (list, tuple, dict, set, str, int)

Claim = Tuple[str, str]
"""The tested expression, in which `{}` is the call, and its value as a literal or text."""


def as_literal(value: Any, depth: int = 0) -> str | None:
    """Return a literal that is equal to the value, or None if there is no short one.

    The literal of an object of a subclass, such as a named tuple, does not show the subclass.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return _scalar(value)
    if depth > _DEEPEST:
        return None
    if kind is dict:
        return _mapping(value, depth)
    return _items(value, depth) if kind in (list, tuple, set) else _as_base(value, depth)


def _as_base(value: Any, depth: int) -> str | None:
    """Return the value of a built-in type that an object of a subclass is equal to."""
    for base in _BASES if not isinstance(value, enum.Enum) else ():
        if isinstance(value, base) and type(value).__eq__ is base.__eq__:
            with contextlib.suppress(Exception):
                return as_literal(base(value), depth + 1)
    return None


def _scalar(value: Any) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and value.bit_length() > _BITS:
        return None
    return repr(value)


def _items(value: Any, depth: int) -> str | None:
    texts = _texts(value, depth)
    if texts is None:
        return None
    if isinstance(value, set):
        return "{" + ", ".join(sorted(texts)) + "}" if texts else "set()"
    if isinstance(value, list):
        return "[" + ", ".join(texts) + "]"
    return "(" + ", ".join(texts) + ("," if len(texts) == 1 else "") + ")"


def _mapping(value: Dict[Any, Any], depth: int) -> str | None:
    keys, items = _texts(value, depth), _texts(value.values(), depth)
    if keys is None or items is None:
        return None
    return "{" + ", ".join(key + ": " + items[n] for n, key in enumerate(keys)) + "}"


def _texts(values: Any, depth: int) -> List[str] | None:
    found = (
        [as_literal(value, depth + 1) for value in values] if len(values) <= _MOST_ITEMS else [None]
    )
    texts = [text for text in found if text is not None]
    return texts if len(texts) == len(found) else None


def as_text(value: Any, root: str, depth: int = 0) -> str | None:
    """Return a text to compare a value with others, or None if it has none that says something.

    Objects of classes in the folder `root` have up to three attributes if they have no text.
    """
    literal = as_literal(value)
    if literal is not None or depth > _DEEPEST:
        return literal
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        parts: Iterable[Any] = value.items() if isinstance(value, dict) else value
        found = (
            [as_text(part, root, depth + 1) for part in parts]
            if len(value) <= _MOST_ITEMS
            else [None]
        )
        texts = [text for text in found if text is not None]
        return type(value).__name__ + repr(texts) if len(texts) == len(found) else None
    if isinstance(value, type):
        return value.__qualname__
    name = type(value).__qualname__
    for method in (repr, str):
        if is_overridden(type(value), "__" + method.__name__ + "__"):
            with contextlib.suppress(Exception):
                text = method(value)
                if not _ADDRESS.search(text):
                    return name + ": " + text
    own = _attributes(value, root, depth) if is_from(type(value), root) else []
    return name + repr(own) if own and not callable(value) else None


def _attributes(value: Any, root: str, depth: int) -> List[Tuple[str, str]]:
    found: List[Tuple[str, str]] = []
    for name in _public_attributes(value):
        with contextlib.suppress(Exception):
            text = as_text(getattr(value, name), root, depth + 1)
            if text is not None and len(text) <= _STRING:
                found.append((name, text))
    return found[:_MOST_ATTRIBUTES]


def _public_attributes(value: Any) -> List[str]:
    """Return the names of the object's attributes, and of the properties of its own class."""
    own = [*getattr(value, "__dict__", {})]
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        own += [slots] if isinstance(slots, str) else slots
    own += [name for name, _ in inspect.getmembers(type(value), lambda m: isinstance(m, property))]
    return [name for name in own if not name.startswith("_")][:30]


def is_overridden(kind: type, method: str) -> bool:
    return getattr(kind, method, None) is not getattr(object, method)


def is_from(kind: type, root: str) -> bool:
    """Return True if the class is defined in the folder `root`."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return file.startswith(root)
