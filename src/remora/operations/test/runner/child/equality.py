"""Equality of objects, which may hide differences between their fields."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import os
import sys
import types
from typing import Any, Dict, List, Set

_STANDARD = frozenset(getattr(sys, "stdlib_module_names", ()))
"""Names of standard modules, which are not known before Python 3.10."""
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_NORMALIZING = frozenset({"casefold", "lower", "normalize", "strip", "upper"})
"""Names of methods with which `==` makes different values alike."""
_METHODS = (types.FunctionType, classmethod, staticmethod, functools.cached_property)
_GETTER = ("RESUME", "LOAD_FAST", "LOAD_ATTR", "RETURN_VALUE")
"""Prefixes of the instructions of a property that only returns an attribute."""


def compares_fields(value: Any) -> bool:
    """Return False if an equal object can have other fields.

    Its `==` calls a method or a function of the project, or reads a property. Each of them may
    bring the fields into a normal form first.
    """
    equal = type(value).__eq__
    code = getattr(equal, "__code__", None)
    if code is None or _is_standard(equal.__module__):
        return True
    codes = [code, *(one for one in code.co_consts if isinstance(one, type(code)))]
    names = {name for one in codes for name in one.co_names if not name.startswith("__")}
    known = getattr(equal, "__globals__", {})
    fields = _fields(value)
    members = [inspect.getattr_static(type(value), name, None) for name in names]
    return not (any(map(_may_normalize, members)) or _normalizing_names(names - fields, known))


def _is_standard(module: str | None) -> bool:
    """Return True for a module of the standard library."""
    name = (module or "").partition(".")[0]
    if _STANDARD:
        return name in _STANDARD
    file = getattr(sys.modules.get(name), "__file__", None)
    return name in sys.builtin_module_names or (
        file is not None and file.startswith(_LIBRARY) and "-packages" not in file
    )


def _may_normalize(member: Any) -> bool:
    """Return True for methods, and for properties that do more than return an attribute."""
    if not isinstance(member, property):
        return isinstance(member, _METHODS)
    code = getattr(member.fget, "__code__", None)
    return code is None or not all(
        one.opname.startswith(_GETTER) for one in dis.get_instructions(code)
    )


def _normalizing_names(names: Set[str], known: Dict[str, Any]) -> List[str]:
    """Return the names of methods of texts, and of functions outside the standard library."""
    found = [name for name in names if isinstance(known.get(name), types.FunctionType)]
    own = [name for name in found if not _is_standard(known[name].__module__)]
    return [*own, *(names & _NORMALIZING)]


def _fields(value: Any) -> Set[str]:
    """Return the names of the object's own attributes."""
    kind = type(value)
    slots = {name for each in kind.__mro__ for name in slots_of(each)}
    with contextlib.suppress(Exception):
        return {*getattr(value, "__dict__", ()), *getattr(kind, "_fields", ()), *slots}
    return slots


def slots_of(kind: type) -> List[str]:
    """Return the public slots of a class."""
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if not name.startswith("_")]
