"""Claims that a test asserts, in a form in which equal claims have equal texts.

Two tests that differ only in names of variables, in the order of their assertions or in a helper
variable claim the same:

    def test_adds():                         def test_sum_of_two():
        assert add(1, 2) == 3                    result = add(1, 2)
                                                 assert 3 == result

Both claim `3 == add(1, 2)`. Local variables that are assigned once are replaced by their values,
the sides of an equality are sorted, and methods of unittest are written as operators. A claim
within a loop or a `with` begins with its header.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.code.syntax.hidden_uses import names_with
from remora.python_text import parse

_COMPARING: dict[str, str] = {
    "assertEqual": "==", "assertEquals": "==", "assertListEqual": "==", "assertDictEqual": "==",
    "assertTupleEqual": "==", "assertSetEqual": "==", "assertSequenceEqual": "==",
    "assertMultiLineEqual": "==", "assertNotEqual": "!=", "assertIs": "is", "assertIsNot": "is not",
    "assertIn": "in", "assertNotIn": "not in", "assertGreater": ">", "assertLess": "<",
    "assertGreaterEqual": ">=", "assertLessEqual": "<=",
}  # fmt: skip
_STATING = {
    "assertTrue": "{}", "assertFalse": "not {}", "assertIsNone": "{} is None",
    "assertIsNotNone": "{} is not None", "assertIsInstance": "isinstance({}, {})",
}  # fmt: skip
CHANGEABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_RAISING = frozenset(
    {
        "raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "assertWarnsRegex",
        "deprecated_call", "assertLogs",
    }
)  # fmt: skip
_LONGEST = 20_000
"""Characters of a claim after which variables are no longer replaced (decision)."""


class Claim(NamedTuple):
    """An assertion. `text` is its normal form, and `test` the expression that must be true.

    `test` is None for an exception, and for a method of a library or of the project that asserts.
    `node` is the test, or else the statement.
    """

    text: str
    test: ast.expr | None
    line: int
    node: ast.AST


def claims_of(function: FunctionNode) -> list[Claim]:
    """Return the claims of a test in source order, without those in functions that it defines."""
    return list(_claims(function.body, values_of(function), ""))


def effects_of(function: FunctionNode) -> list[ast.AST]:
    """Return the statements of a test that may change something, and its own functions.

    Assignments of single variables and claims are left out. Names of variables are replaced as in
    claims.
    """
    values, lines = values_of(function), {claim.line for claim in claims_of(function)}
    found = list[ast.AST]()
    for statement in own_statements(function):
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.With() | ast.For():
                continue
            case ast.Assign(targets=[ast.Name(id=name)]) if name in values:
                continue
            case ast.Expr(value=value) if statement.lineno not in lines:
                found.append(inlined(value, values))
            case ast.Assign(targets=targets, value=value):
                found += [*targets, inlined(value, values)]
            case ast.AugAssign() | ast.Delete():
                found.append(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.append(statement)
    return found


def _claims(
    body: Iterable[ast.stmt], values: Mapping[str, ast.expr], around: str
) -> Iterator[Claim]:
    for statement in body:
        yield from _of_statement(statement, values, around)


def _of_statement(
    statement: ast.stmt, values: Mapping[str, ast.expr], around: str
) -> Iterator[Claim]:
    match statement:
        case ast.Assert(test=test):
            yield from _parts(test, values, around, statement.lineno)
        case ast.Expr(value=ast.Call() as call):
            yield from _of_call(call, values, around)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            raising = [item.context_expr for item in items if _is_raising(item.context_expr)]
            inner = "".join(f"{_text(ast.unparse(line))}\n" for line in body)
            for expected in raising:
                text = f"{around}{_written(expected, values)}: {inner}"
                yield Claim(text, None, statement.lineno, statement)
            heads = [_written(item.context_expr, values) for item in items]
            header = "" if raising else f"with {', '.join(heads)}: "
            yield from _claims(body, values, around + header)
        case ast.For() | ast.AsyncFor() | ast.While() | ast.If():
            head = statement.test if isinstance(statement, ast.While | ast.If) else statement.iter
            header = f"{around}{type(statement).__name__} {_written(head, values)}: "
            yield from _claims(statement.body, values, header)
            yield from _claims(statement.orelse, values, header + "else ")
        case ast.Try(body=body, orelse=orelse, finalbody=final, handlers=handlers):
            caught = "".join(
                ast.unparse(handler.type) if handler.type else "all" for handler in handlers
            )
            yield from _claims(body, values, f"{around}try {caught}: ")
            for handler in handlers:
                yield from _claims(handler.body, values, f"{around}except {caught}: ")
            yield from _claims((*orelse, *final), values, around)


def _of_call(call: ast.Call, values: Mapping[str, ast.expr], around: str) -> Iterator[Claim]:
    name = _called(call)
    if name in _COMPARING and len(call.args) >= 2:
        left, right = call.args[:2]
        comparison = f"({ast.unparse(left)}) {_COMPARING[name]} ({ast.unparse(right)})"
        yield from _parts(_expression(comparison), values, around, call.lineno)
    elif name in _STATING and call.args:
        words = [f"({ast.unparse(word)})" for word in call.args[:2]]
        if (number := _STATING[name].count("{}")) <= len(words):
            stated = _expression(_STATING[name].format(*words[:number]))
            yield from _parts(stated, values, around, call.lineno)
    elif name.startswith("assert") or name in ("fail", *_RAISING):
        yield Claim(around + _written(call, values), None, call.lineno, inlined(call, values))


def _parts(
    test: ast.expr, values: Mapping[str, ast.expr], around: str, line: int
) -> Iterator[Claim]:
    """Yield a claim for each part of an expression that must be true."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _parts(part, values, around, line)
        return
    made = inlined(test, values)
    match made:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            sides = sorted((ast.unparse(left), ast.unparse(right)))
            sign = "==" if isinstance(op, ast.Eq) else "!="
            text = f"{sides[0]} {sign} {sides[1]}"
        case _:
            text = ast.unparse(made)
    yield Claim(around + text, made, line, made)


def values_of(function: FunctionNode) -> dict[str, ast.expr]:
    """Return the values of local variables that are assigned once, with variables replaced."""
    stores = Counter(names_with(ast.Store, function))
    reads = Counter(names_with(ast.Load, function))
    given = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    found: dict[str, ast.expr] = {}
    for node in own_statements(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stores[name] == 1:
                if isinstance(value, CHANGEABLE) and reads[name] > 1:
                    continue  # what reads it first may change it
                if name not in given and not isinstance(value, ast.Await | ast.Yield):
                    found[name] = inlined(value, found)
    return found


def own_statements(function: FunctionNode) -> Iterator[ast.stmt]:
    """Yield the statements of a function in source order, without those of nested definitions."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, DefinitionNode | ast.expr):
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))


class _Inline(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self._values[node.id]) if node.id in self._values else node


def inlined(expression: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression in which names are replaced by their values."""
    if not values:
        return expression
    made: ast.expr = _Inline(values).visit(copy.deepcopy(expression))
    with suppress(ValueError):  # an older Python cannot write each f-string
        return made if len(ast.unparse(made)) <= _LONGEST else expression
    return expression


def _written(expression: ast.expr, values: Mapping[str, ast.expr]) -> str:
    return ast.unparse(inlined(expression, values))


def _text(code: str) -> str:
    return " ".join(code.split())


def _expression(code: str) -> ast.expr:
    return parse(code, "eval").body


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def _is_raising(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and _called(expression) in _RAISING
