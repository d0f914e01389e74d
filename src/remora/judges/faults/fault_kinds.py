"""The faults that can be planted in a node of a function, each with its kind and in words."""

import ast
import copy
from collections.abc import Iterator
from enum import StrEnum

from remora.code.syntax.definitions import FunctionNode, default_values
from remora.code.syntax.effects import is_none_or_missing
from remora.code.syntax.hidden_uses import names_in
from remora.code.syntax.spans import without_docstring
from remora.text import clip

_MOST_SHOWN = 60
"""Characters of code in the description of a fault."""


class FaultKind(StrEnum):
    """What faults of a kind have in common, each as an example."""

    OPTION = "an argument with a default was ignored"
    CHOICE = "`a or b` became `a`"
    CONDITION = "`if a` became `if not a`"
    RETURN = "`return a` became `return None`"
    CALL = "`f(a)` or `del a[b]` was removed"
    STATEMENT = "`a = b` or `raise a` was removed"
    NEAREST_COMPARISON = "`a < b` became `a <= b`, or `a == b` became `a != b`"
    OPPOSITE_COMPARISON = "`a < b` became `a >= b`"
    ARITHMETIC = "`a + b` became `a - b`"
    AND_OR = "`a and b` became `a or b`"
    NOT = "`not a` became `a`"
    ARGUMENTS = "`f(a, b)` became `f(b, a)`"
    CONSTANT = "`True` became `False`"
    NUMBER_ABOVE = "`1` became `2`"
    NUMBER_BELOW = "`1` became `0`"
    TEXT = "`'a'` became `'ax'`"


_OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OTHER_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_TEXT_METHODS = frozenset(
    {
        "capitalize", "casefold", "expandtabs", "lower", "lstrip", "removeprefix", "removesuffix",
        "replace", "rstrip", "strip", "swapcase", "title", "upper",
    }
)  # fmt: skip
"""Methods that return a text like the one they are called on."""
_OF_ANY_ORDER = {"min", "max"}
"""Functions whose arguments may be swapped."""
Fault = tuple[FaultKind, str, ast.AST]
"""The kind of a fault, its description, and what replaces a node to plant it."""


def ignored_options(function: FunctionNode) -> Iterator[Fault]:
    """Yield a fault for each argument with a literal default that the function reads: it is ignored."""
    for name, default in default_values(function.args):
        if is_literal(default) and _reads(function, name):
            ignoring = _assign_first(function, name, default)
            yield FaultKind.OPTION, f"the argument {name} was ignored", ignoring


def _reads(function: FunctionNode, name: str) -> bool:
    """Return True if a function may use what is passed for a parameter.

    It does not if its first statement about it is `name = 1`, `_ = name` or `del name`. `locals()`
    reads all parameters.
    """
    for statement in function.body:
        match statement:
            case ast.Assign([ast.Name("_")], ast.Name()) | ast.Expr(ast.Name()):
                continue
            case ast.Delete() if name in names_in(statement):
                return False
            case ast.Assign([ast.Name(target)], value) if target == name:
                return name in names_in(value)
        if names_in(statement) & {name, "locals", "vars", "eval", "exec"}:
            return True
    return False


def node_faults(node: ast.AST) -> Iterator[Fault]:
    """Yield the faults of a node other than a function."""
    if isinstance(node, ast.expr):
        yield from _faults_in_expression(node)
        for choice in _choices(node):
            yield _become(FaultKind.CHOICE, node, choice)
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield (
                FaultKind.CONDITION,
                f"the condition {_shown(test)} was negated",
                with_fields(node, test=_not(test)),
            )
        case ast.Return(value=ast.expr() as value) if not is_none_or_missing(value):
            yield FaultKind.RETURN, "it returns None", ast.Return(ast.Constant(None))
        case ast.Assign([ast.Name("_")], ast.Name()) | ast.Delete([ast.Name()]):
            pass  # says that a value is not used
        case (
            ast.Expr(value=ast.Call()) | ast.Assign() | ast.AugAssign() | ast.Delete() | ast.Raise()
        ):
            is_call = isinstance(node, ast.Expr | ast.Delete)
            kind = FaultKind.CALL if is_call else FaultKind.STATEMENT
            yield kind, f"{_shown(node)} was removed", ast.Pass()


def _faults_in_expression(node: ast.expr) -> Iterator[Fault]:
    match node:
        case ast.Compare(ops=[op]):
            kinds = FaultKind.NEAREST_COMPARISON, FaultKind.OPPOSITE_COMPARISON
            for kind, other in zip(kinds, _OTHER_COMPARISONS[type(op)], strict=False):
                yield _changed(kind, node, ops=[other()])
        case ast.BinOp(op=op) if type(op) in _OTHER_OPERATORS and not _is_text(node):
            opposite = _OTHER_OPERATORS[type(op)]
            yield _changed(FaultKind.ARITHMETIC, node, op=opposite())
        case ast.BoolOp(op=op):
            swapped = ast.Or if isinstance(op, ast.And) else ast.And
            yield _changed(FaultKind.AND_OR, node, op=swapped())
        case ast.UnaryOp(op=ast.Not()):
            yield FaultKind.NOT, f"the not of {_shown(node)} was removed", _not(node)
        case ast.Constant(value=value):
            yield from _constant(node, value)
        case ast.Call(func=func, args=[first, second, *others]) if (
            ast.dump(first) != ast.dump(second) and ast.unparse(func) not in _OF_ANY_ORDER
        ):
            what = f"two arguments of {_shown(node)} were swapped"
            yield FaultKind.ARGUMENTS, what, with_fields(node, args=[second, first, *others])


def _choices(node: ast.expr) -> list[ast.expr]:
    """Return the parts that an expression may be equal to.

    Branch coverage does not show that a test tells them apart.
    """
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.BoolOp(values=[first, second]):
            return [first, second]
        case ast.Call(func=ast.Name(id="min" | "max"), args=[first, second], keywords=[]):
            return [first, second]
        case ast.Call(func=ast.Attribute(value=text, attr=name)) if name in _TEXT_METHODS:
            return [text]
        case ast.Call(func=ast.Name(id="abs" | "round" | "sorted"), args=[value, *_]):
            return [value]
    return []


def _not(operand: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=operand)


def _constant(node: ast.expr, value: object) -> Iterator[Fault]:
    if isinstance(value, bool):
        yield _changed(FaultKind.CONSTANT, node, value=not value)
    elif isinstance(value, int):
        yield _changed(FaultKind.NUMBER_ABOVE, node, value=value + 1)
        yield _changed(FaultKind.NUMBER_BELOW, node, value=value - 1)
    elif isinstance(value, str):
        yield _changed(FaultKind.TEXT, node, value=f"{value}x")
    elif isinstance(value, bytes):
        yield _changed(FaultKind.TEXT, node, value=value + b"x")


def _changed(kind: FaultKind, node: ast.expr, **fields: object) -> Fault:
    return _become(kind, node, with_fields(node, **fields))


def _become(kind: FaultKind, node: ast.expr, other: ast.AST) -> Fault:
    """Return a fault that is described by the code before and after."""
    return kind, f"{_shown(node)} became {_shown(other)}", other


def _shown(node: ast.AST) -> str:
    """Return the first line of the code, in a form that fits into a sentence."""
    return f"`{clip(ast.unparse(node).partition(chr(10))[0], _MOST_SHOWN)}`"


def with_fields(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _assign_first(function: FunctionNode, name: str, value: ast.expr) -> ast.AST:
    """Return a function that gives a variable another value at its beginning."""
    start = len(function.body) - len(without_docstring(function.body))
    assignment = ast.Assign([ast.Name(name)], value)
    return with_fields(function, body=[*function.body[:start], assignment, *function.body[start:]])


def is_literal(value: ast.expr) -> bool:
    """Return True for a literal, such as `-1` or `["a"]`."""
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _is_text(node: ast.BinOp) -> bool:
    """Return True if an operand is a string or bytes literal.

    Replacing the operator of such an operation would cause a type error.
    """
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (node.left, node.right)
    )
