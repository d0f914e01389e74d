"""Names that code uses."""

import ast
import builtins
from collections.abc import Iterable, Mapping

COMMON_NAMES = frozenset(
    name
    for kind in (bytes, complex, dict, float, frozenset, int, list, set, str, tuple)
    for name in dir(kind)
) | frozenset({"close", "flush", "read", "run", "seek", "start", "write", *dir(builtins)})
"""Names of built-in functions and methods, which say little about what is called."""


def reached_names(started: Iterable[str], uses: Mapping[str, set[str]]) -> set[str]:
    """Return some names, and all names that these use directly or indirectly."""
    waiting = set(started)
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= uses.get(name, set()) - reached
    return reached


def used_names(node: ast.AST) -> set[str]:
    """Return the names of variables, functions and attributes that code mentions."""
    return {
        name
        for part in ast.walk(node)
        for name in (getattr(part, "id", None), getattr(part, "attr", None))
        if isinstance(name, str)
    }
