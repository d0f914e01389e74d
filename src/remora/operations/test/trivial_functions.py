"""Functions that a test says little about, such as accessors and delegations."""

import ast
from functools import lru_cache

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.target_function import TargetFunction

CONSTANT = "it only returns or stores what it has"
WRAPS = "it is a single call that gets its arguments"
DELEGATES = "it only passes its arguments on"
SAYS_NOTHING = frozenset({CONSTANT, WRAPS})
"""Reasons for which even an example makes no test: it would test what is called."""
_LOGGERS = frozenset({"debug", "info", "warning", "error", "exception", "log", "print"})


def why_trivial(subject: TargetFunction) -> str:
    """Return why a test of the function says little, or an empty string.

    The reason is `CONSTANT`, `WRAPS` or `DELEGATES`.
    """
    function = subject.function
    body = [one for one in function.body if not _is_without_result(one)]
    own = {"self", "cls", "super", *_parameters(function), *_own_names(subject.source.tree)}
    kinds = {_kind_of(one, own) for one in body}
    if len(body) <= 1 or "" not in kinds:
        if kinds <= {CONSTANT}:
            return CONSTANT
        if kinds <= {CONSTANT, DELEGATES}:
            return WRAPS if len(body) == 1 else DELEGATES
    return ""


def _is_without_result(one: ast.stmt) -> bool:
    """Return True for docstrings, `pass`, assertions and calls of a logger."""
    match one:
        case ast.Pass() | ast.Assert() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=called)):
            return ast.unparse(called).rpartition(".")[2] in _LOGGERS
    return False


def _kind_of(one: ast.stmt, own: set[str]) -> str:
    """Return the kind of a statement: `CONSTANT`, `DELEGATES` or, for others, an empty string."""
    match one:
        case ast.Return(value=None) | ast.Raise():
            return CONSTANT
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()], value=value):
            return _kind_of_value(value, own)
        case ast.AnnAssign(target=ast.Attribute(), value=ast.expr() as value):
            return _kind_of_value(value, own)
        case ast.Return(value=ast.expr() as value) | ast.Expr(value=value):
            return _kind_of_value(value, own)
    return ""


def _kind_of_value(value: ast.expr, own: set[str]) -> str:
    if _is_held(value):
        return CONSTANT
    match value:
        case ast.Compare(left=left, comparators=[right], ops=[ast.Is() | ast.IsNot()]):
            return CONSTANT if _is_held(left) and _is_held(right) else ""
        case ast.UnaryOp(operand=inner):
            return _kind_of_value(inner, own)
        case ast.Call(func=called, args=args, keywords=words):
            given = [*args, *(word.value for word in words)]
            root = ast.unparse(called).partition(".")[0].partition("(")[0]
            has_constant = any(isinstance(each, ast.Constant) for each in given)
            passes = root in own or (f"import {root}" in own and not has_constant)
            return DELEGATES if passes and all(map(_is_held, given)) else ""
    return ""


def _is_held(value: ast.expr) -> bool:
    """Return True for constants, names, attributes, items and empty collections."""
    parts: list[ast.expr]
    match value:
        case ast.Constant() | ast.Name() | ast.UnaryOp(operand=ast.Constant()) | ast.Dict(keys=[]):
            parts = []
        case ast.Attribute(value=inner) | ast.Starred(value=inner):
            parts = [inner]
        case ast.Subscript(value=inner, slice=index):
            parts = [inner, index]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            pass
        case _:
            return False
    return all(map(_is_held, parts))


def _parameters(function: FunctionNode) -> set[str]:
    return {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}


@lru_cache(maxsize=1)  # for all functions of a file
def _own_names(tree: ast.Module) -> frozenset[str]:
    """Return the names of a module's functions and classes, and of what its package provides.

    Names of other packages have the form `import NAME`.
    """
    found: set[str] = set()
    for one in tree.body:
        match one:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ImportFrom(level=level, names=names) if level:
                found |= {each.asname or each.name for each in names}
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                found |= {f"import {each.asname or each.name}" for each in names}
    return frozenset(found)
