"""Functions whose results a test can probably compare, as far as their source shows."""

import ast
import builtins
from collections.abc import Callable, Mapping

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.effects import own_nodes

_DEPTH = 3
_LITERALS = (
    ast.Constant, ast.JoinedStr, ast.Compare, ast.UnaryOp, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.Dict, ast.Set,
)  # fmt: skip
_BUILT_INS = frozenset(
    name for name, one in vars(builtins).items() if isinstance(one, type) or callable(one)
) - {"object", "super", "type", "property", "getattr", "iter", "next", "open", "vars", "globals"}
_METHODS = frozenset(
    name for kind in (str, bytes, dict, list, set, int, float) for name in dir(kind)
) - {"copy", "get", "pop", "popitem", "setdefault", "__init__"}
_TRANSPARENT = frozenset(
    {
        "cache", "lru_cache", "staticmethod", "classmethod", "wraps", "deprecated", "final", "override",
        "total_ordering", "singledispatch", "no_type_check", "register",
    }
)  # fmt: skip


def has_comparable_result(function: FunctionNode, functions: Mapping[str, FunctionNode]) -> bool:
    """Return True if all results are values of built-in types, as far as can be seen.

    `functions` contains the functions at the top of the file, whose results are looked at, too.
    """
    return _has(function, functions, _DEPTH)


def returns_functions(function: FunctionNode, functions: Mapping[str, FunctionNode]) -> bool:
    """Return True if all results are results of decorators or of what a decorator has changed."""
    returned = [one.value for one in own_nodes(function.body) if isinstance(one, ast.Return)]
    calls = [one.func for one in returned if isinstance(one, ast.Call)]
    names = {getattr(one, "id", "") for one in calls if not isinstance(one, ast.Call)}
    return 0 < len(calls) == len(returned) and all(
        name in functions and is_wrapped(functions[name]) for name in names
    )


def _has(function: FunctionNode, functions: Mapping[str, FunctionNode], depth: int) -> bool:
    returned = [one.value for one in own_nodes(function.body) if isinstance(one, ast.Return)]
    values = [value for value in returned if value is not None]
    values += [
        one.value
        for one in own_nodes(function.body)
        if isinstance(one, ast.Yield | ast.YieldFrom) and one.value is not None
    ]
    return bool(values) and all(_is_plain(one, function, functions, depth) for one in values)


def _is_plain(
    value: ast.expr, function: FunctionNode, functions: Mapping[str, FunctionNode], depth: int
) -> bool:
    def plain(one: ast.expr) -> bool:
        return depth > 0 and _is_plain(one, function, functions, depth - 1)

    if isinstance(value, ast.Name):
        return _is_plain_name(value.id, function, plain)
    if isinstance(value, ast.Call):
        name = getattr(value.func, "id", "")
        if name in functions:
            return depth > 0 and _has(functions[name], functions, depth - 1)
        return name in _BUILT_INS or getattr(value.func, "attr", "") in _METHODS
    if isinstance(value, ast.BinOp):
        return plain(value.left) or plain(value.right)
    parts = _parts(value)
    return isinstance(value, _LITERALS) if parts is None else all(map(plain, parts))


def _parts(value: ast.expr) -> list[ast.expr] | None:
    """Return the expressions that decide on the type of a compound one, or None for others."""
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            return parts
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.Starred(value=one) | ast.NamedExpr(value=one) | ast.Subscript(value=one):
            return [one]
    return None


def _is_plain_name(name: str, function: FunctionNode, plain: Callable[[ast.expr], bool]) -> bool:
    given = function.args
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    assigned = [
        one.value
        for one in own_nodes(function.body)
        if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign) and one.value is not None
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    if assigned:
        return any(map(plain, assigned))
    loops = [
        target
        for one in own_nodes(function.body)
        if isinstance(one, ast.For | ast.comprehension)
        for target in ast.walk(one.target)
    ]
    names = {each.arg for each in every if each is not None}
    names |= {each.id for each in loops if isinstance(each, ast.Name)}
    return name in names


def is_wrapped(function: FunctionNode) -> bool:
    """Return True if a decorator may change the parameters or the result."""
    names = {ast.unparse(one).partition("(")[0] for one in function.decorator_list}
    return any(name.rpartition(".")[2] not in _TRANSPARENT for name in names)
