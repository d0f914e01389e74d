"""Descriptions of values as source code, for the expected side of an assertion."""

from __future__ import annotations

import builtins
import contextlib
import datetime
import enum
import inspect
import math
import re
import sys
from typing import Any, Dict, List, NamedTuple, Set, Tuple

_TEXT = 400
_STRING = 120
_MOST_ITEMS = 40
_DEEPEST = 5
_BITS = 200
_MOST_ATTRIBUTES = 3
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+|<[\w.]+ object|\bfunction ")
_NO_TEXT = re.compile(r"\n|\bat 0x|\A<.*>\Z|\A[\w.]+\(.*\)\Z")
"""Texts that describe an object to developers, as its `repr` does, or that have several lines."""
_DOTTED = re.compile(
    r"\b(datetime|decimal|fractions|collections|uuid|pathlib|ipaddress|zoneinfo)\.(?=[A-Za-z])"
)

tested_functions: Set[str] = set()
"""Names of functions that an expected value must not call, because they are under test."""

attributes_in_code: Set[str] = set()
"""Names of attributes in the code under test, which are asserted rather than others."""

Claim = Tuple[str, str]
"""The tested expression, in which `{}` is the call, and the expected value."""


class Described(NamedTuple):
    """Source code that evaluates to a value, and the import statements that it needs."""

    text: str
    imports: Dict[str, None]


def describe(value: Any, depth: int = 0) -> Described | None:
    """Return source code for the value, or None if no short code evaluates to an equal value."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return _scalar(value)
    if depth > _DEEPEST:
        return None
    if kind in (list, tuple, set, frozenset):
        return _items(value, depth)
    if kind is dict:
        return _mapping(value, depth)
    return _object(value, depth)


def _scalar(value: Any) -> Described | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and value.bit_length() > _BITS:
        return None
    return Described(repr(value), {})


def _object(value: Any, depth: int) -> Described | None:
    if isinstance(value, enum.Enum):
        found = _named(type(value)) if value.name in type(value).__members__ else None
        return found and Described(found.text + "." + value.name, found.imports)
    if isinstance(value, type):
        return _named(value)
    made = [one for one in (_by_repr(value), _by_fields(value, depth)) if one is not None]
    return min(made, key=lambda one: len(one.text)) if made else _as_base(value, depth)


def _as_base(value: Any, depth: int) -> Described | None:
    """Return a value of a built-in type that an object of a subclass is equal to.

    The assertion does not notice another type of the object.
    """
    bases: Tuple[Any, ...] = (list, tuple, dict, set, frozenset, str, int)
    for base in bases:
        if isinstance(value, base) and type(value).__eq__ is base.__eq__:
            return _converted(base, value, depth + 1)
    return None


def _converted(base: Any, value: Any, depth: int) -> Described | None:
    """Return the value as one of a built-in type, or None if its class cannot be converted."""
    with contextlib.suppress(Exception):
        return describe(base(value), depth)
    return None


def _items(value: Any, depth: int) -> Described | None:
    if len(value) > _MOST_ITEMS:
        return None
    found = [describe(one, depth + 1) for one in value]
    parts = [one for one in found if one is not None]
    if len(parts) < len(found):
        return None
    texts = [one.text for one in parts]
    imports = {name: None for one in parts for name in one.imports}
    if isinstance(value, (set, frozenset)):
        texts.sort()
        inner = "{" + ", ".join(texts) + "}" if texts else ""
        if isinstance(value, set):
            return Described(inner or "set()", imports)
        return Described("frozenset(" + inner + ")", imports)
    if isinstance(value, list):
        return Described("[" + ", ".join(texts) + "]", imports)
    return Described("(" + ", ".join(texts) + ("," if len(texts) == 1 else "") + ")", imports)


def _mapping(value: Dict[Any, Any], depth: int) -> Described | None:
    if len(value) > _MOST_ITEMS:
        return None
    texts: List[str] = []
    imports: Dict[str, None] = {}
    for key, item in value.items():
        left, right = describe(key, depth + 1), describe(item, depth + 1)
        if left is None or right is None:
            return None
        texts.append(left.text + ": " + right.text)
        imports.update(left.imports)
        imports.update(right.imports)
    return Described("{" + ", ".join(texts) + "}", imports)


def public_module(kind: Any) -> str:
    """Return the shortest public module that provides the class or function, or an empty string."""
    parts = kind.__module__.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if getattr(sys.modules.get(name), kind.__name__, None) is kind:
            return name
    return ""


def _named(kind: Any) -> Described | None:
    """Return the name of a class or function, and its import."""
    if kind.__module__ == "builtins":
        return Described(kind.__name__, {}) if hasattr(builtins, kind.__name__) else None
    module = public_module(kind)
    if not module or kind.__qualname__ != kind.__name__ or kind.__name__.startswith("_"):
        return None
    return Described(kind.__name__, {f"from {module} import {kind.__name__}": None})


def _by_repr(value: Any) -> Described | None:
    """Return the value's `repr` if it evaluates to an equal value of the same type."""
    kind = type(value)
    zone = getattr(value, "tzinfo", None)
    if not is_overridden(kind, "__eq__") or zone not in (None, datetime.timezone.utc):
        return None
    try:
        text = repr(value)
    except Exception:
        return None
    if len(text) > _TEXT or "\n" in text or _ADDRESS.search(text):
        return None
    text = _DOTTED.sub("", text)
    classes = _classes_in(text, kind)
    imports: Dict[str, None] = {}
    for each in classes.values():
        described = _named(each) if each is not None else None
        if described is None:
            return None
        imports.update(described.imports)
    try:
        again = eval(text, {"__builtins__": {}}, classes)
        same = type(again) is kind and bool(again == value) and repr(again) == repr(value)
    except Exception:
        return None
    return Described(text, imports) if same else None


def _by_fields(value: Any, depth: int) -> Described | None:
    """Return a call with the fields of a dataclass or attrs class, if it makes an equal object.

    Fields that have their default value are left out.
    """
    kind = type(value)
    named = _named(kind)
    fields = [*getattr(kind, "__dataclass_fields__", {}).values()]
    fields += getattr(kind, "__attrs_attrs__", ())
    if named is None or not fields or not is_overridden(kind, "__eq__"):
        return None
    words: List[str] = []
    imports = dict(named.imports)
    given: Dict[str, Any] = {}
    with contextlib.suppress(Exception):
        for field in fields:
            item = getattr(value, field.name)
            if not field.init or item == field.default:
                continue
            found = describe(item, depth + 1)
            if found is None or field.name.startswith("_"):
                return None
            words.append(field.name + "=" + found.text)
            imports.update(found.imports)
            given[field.name] = item
        if kind(**given) == value:
            return Described(named.text + "(" + ", ".join(words) + ")", imports)
    return None


def is_overridden(kind: type, method: str) -> bool:
    return getattr(kind, method, None) is not getattr(object, method)


def _classes_in(text: str, kind: type) -> Dict[str, Any]:
    """Return the classes and functions that the text calls or reads attributes of, by name."""
    names = re.findall(r"(?<![\w.'\"])([A-Za-z_]\w*)\s*(?=[(.])", text)
    return {name: _class_called(name, kind) for name in dict.fromkeys(names)}


def _class_called(name: str, kind: type) -> Any:
    """Return the class of that name in the module of `kind`, in `datetime` or in the builtins.

    A function of the module of `kind`, which may make its objects, counts as well.
    """
    own = sys.modules.get(kind.__module__)
    for place in (own, datetime, builtins):
        found = getattr(place, name, None)
        made = place is own and inspect.isfunction(found) and name not in tested_functions
        if made or isinstance(found, type):
            return found
    return kind if kind.__name__ == name else None


def claims_about(value: Any, root: str) -> Tuple[List[Claim], Dict[str, None]]:
    """Return assertions about a result, and their imports.

    `root` is the project's folder. Classes outside it and the standard library are not asserted by
    their attributes.
    """
    found = describe(value)
    if found is not None:
        return [("{}", found.text)], found.imports
    if not is_from(type(value), root) or callable(value):
        return [], {}
    text = _text_of(value)
    return ([("str({})", repr(text))], {}) if text else _attributes(value)


def _text_of(value: Any) -> str:
    """Return the text of an object whose class says how it reads, or an empty string."""
    if not is_overridden(type(value), "__str__"):
        return ""
    try:
        text = str(value)
    except Exception:
        return ""
    is_text = re.search(r"\w", text) and not _NO_TEXT.search(text) and len(text) <= _STRING
    return text if is_text else ""


def _attributes(value: Any) -> Tuple[List[Claim], Dict[str, None]]:
    found: Dict[str, Described] = {}
    for name in _public_attributes(value):
        with contextlib.suppress(Exception):
            described = describe(getattr(value, name))
            if described is not None and len(described.text) <= _STRING:
                found[name] = described
    names = [name for name in found if name in attributes_in_code] or list(found)
    chosen = names[:_MOST_ATTRIBUTES]
    imports = {each: None for name in chosen for each in found[name].imports}
    return [("{}." + name, found[name].text) for name in chosen], imports


def _public_attributes(value: Any) -> List[str]:
    """Return the names of the object's attributes, and of the properties of its own class."""
    own = [*getattr(value, "__dict__", {})]
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        own += [slots] if isinstance(slots, str) else slots
    own += [name for name, _ in inspect.getmembers(type(value), lambda m: isinstance(m, property))]
    return [name for name in own if not name.startswith("_")][:30]


def is_from(kind: type, root: str) -> bool:
    """Return True if the class is defined in the folder `root`."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return file.startswith(root)
