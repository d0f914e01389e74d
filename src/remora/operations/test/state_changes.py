"""Statements that change an object which a function has been given, such as `self`."""

import ast
import re
from collections.abc import Iterator

from remora.code.syntax.definitions import FunctionNode

_CHANGING_METHODS = frozenset(
    {
        "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "insert",
        "intersection_update", "move_to_end", "pop", "popitem", "popleft", "remove", "reverse",
        "setdefault", "sort", "symmetric_difference_update", "update",
    }
)  # fmt: skip
"""Names of methods of built-in collections that change them."""
_KEPT_RESULTS = frozenset({"cache", "cached", "caches", "memo", "memoized", "memos"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def root_name(node: ast.expr) -> str:
    """Return the name of the object whose part the code is, or an empty string."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def changed_parameters(function: FunctionNode) -> frozenset[str]:
    """Return the parameters whose objects a statement could change.

    Collected arguments and parameters that the function assigns again belong to the function.
    """
    args = function.args
    names = {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    stored = (one for one in ast.walk(function) if isinstance(one, ast.Name))
    return frozenset(names - {one.id for one in stored if isinstance(one.ctx, ast.Store)})


def changes_state(node: ast.AST, parameters: frozenset[str]) -> bool:
    """Return True for a statement that changes the object of a parameter, but for kept results."""
    match node:
        case ast.Delete(targets=targets) | ast.Assign(targets=targets):
            parts = [part for each in targets for part in _stored_parts(each)]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
            parts = [*_stored_parts(target)]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=value, attr=name))):
            parts = [value] if name in _CHANGING_METHODS else []
        case _:
            return False
    return any(root_name(each) in parameters and not _keeps_results(each) for each in parts)


def _stored_parts(target: ast.expr) -> Iterator[ast.expr]:
    """Yield the attributes and items to which a target assigns."""
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for each in targets:
                yield from _stored_parts(each)
        case ast.Starred(value=value):
            yield from _stored_parts(value)
        case ast.Attribute() | ast.Subscript():
            yield target


def _keeps_results(node: ast.expr) -> bool:
    """Return True if a name says that the object only saves work, as in `self._cache`."""
    return any(word.lower() in _KEPT_RESULTS for word in _WORD.findall(ast.unparse(node)))


def has_changes(function: FunctionNode) -> bool:
    """Return True if a statement of the function changes the object of a parameter."""
    names = changed_parameters(function)
    return any(changes_state(one, names) for one in ast.walk(function))
