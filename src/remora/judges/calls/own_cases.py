"""The cases of a function in its existing tests: rows of tables, and assertions."""

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from remora.code.edit.import_edits import Imported
from remora.judges.calls.case import CallInput, is_call_of
from remora.judges.calls.code_slices import Snippet, Wanted, calls_in
from remora.judges.calls.target_function import TargetFunction
from remora.judges.faults.fault_kinds import is_literal
from remora.python_text import literal, parse

_RAISES = frozenset({"raises", "assertRaises"})


class OwnCase(NamedTuple):
    """A case in a test: what it calls, and the code that a further case would repeat."""

    path: str
    """The path of the test file."""
    test: str
    """The qualname of the test."""
    call: CallInput
    """What the test calls."""
    given: Mapping[str, ast.expr]
    """The arguments by parameter: some are literals in `code`, or the same for all rows."""
    expected: ast.expr | None
    """What the result is compared with."""
    outcome: str
    """`==`, `is`, `True`, `False` or the name of the exception."""
    code: ast.expr | ast.stmt
    """The statement, or the row of a table."""
    last: ast.expr | ast.stmt
    """The last statement or row of the same kind, after which further cases follow."""


_Claim = tuple[ast.expr, ast.expr | None, str]
"""Expression that may be the call, expected value, and outcome of an `OwnCase`."""


class _Assertion(NamedTuple):
    call: ast.Call
    expected: ast.expr | None
    outcome: str


def own_cases(
    path: str,
    test: ast.FunctionDef,
    qualname: str,
    subject: TargetFunction,
    known: Mapping[str, Imported],
    constants: Sequence[ast.stmt],
) -> list[OwnCase]:
    """Return the cases of the function in a test whose calls can be made elsewhere.

    `known` maps the names of the test file to their imports, and `constants` has the assignments at
    its top.
    """
    body = test.body[1:] if ast.get_docstring(test) is not None else test.body
    found: Iterable[tuple[_Assertion, list[ast.stmt], ast.expr | ast.stmt, ast.expr | ast.stmt]]
    found = _rows(test, body, subject) if test.decorator_list else _statements(body, subject)
    cases = []
    for assertion, before, code, last in found:
        given = _given(assertion.call, subject)
        if given is None or not any(map(is_literal, given.values())):
            continue
        if len({*given.values()}) < len(given):
            continue  # two parameters share a cell
        call = _input(assertion.call, [*constants, *before], subject, known)
        if call is not None:
            expected, outcome = assertion.expected, assertion.outcome
            cases.append(OwnCase(path, qualname, call, given, expected, outcome, code, last))
    return cases


def _statements(
    body: Sequence[ast.stmt], subject: TargetFunction
) -> list[tuple[_Assertion, list[ast.stmt], ast.stmt, ast.stmt]]:
    """Return the assertions of a test that has several of them."""
    found = [(number, _assertion(statement, subject)) for number, statement in enumerate(body)]
    known = [(number, assertion) for number, assertion in found if assertion is not None]
    if len(known) < 2:
        return []
    last = body[known[-1][0]]
    return [(assertion, [*body[:number]], body[number], last) for number, assertion in known]


def _rows(
    test: ast.FunctionDef, body: Sequence[ast.stmt], subject: TargetFunction
) -> Iterator[tuple[_Assertion, list[ast.stmt], ast.expr, ast.expr]]:
    """Yield the rows of a table whose columns are all arguments, or the expected result."""
    columns, rows = _table(test)
    assertion = _assertion(body[-1], subject) if body else None
    if not columns or assertion is None:
        return
    words = [word.value for word in assertion.call.keywords]
    parts = [*assertion.call.args, *words, *filter(None, [assertion.expected])]
    plain = [part.value if isinstance(part, ast.Starred) else part for part in parts]
    if not {part.id for part in plain if isinstance(part, ast.Name)} >= {*columns}:
        return
    for row in rows:
        cells = row.elts if len(columns) > 1 and isinstance(row, ast.Tuple | ast.List) else [row]
        if len(cells) != len(columns):
            continue
        filled = _Filled(dict(zip(columns, cells, strict=True)))
        call = filled.visit(copy.deepcopy(assertion.call))
        expected = assertion.expected
        if isinstance(expected, ast.Name):
            expected = filled.cells.get(expected.id, expected)
        if expected is None or is_literal(expected):
            own = _Assertion(call, expected, assertion.outcome)
            yield own, [*body[:-1]], row, rows[-1]


class _Filled(ast.NodeTransformer):
    """Replaces the parameters of a table with the cells of a row, as in `f(*arguments)`."""

    def __init__(self, cells: Mapping[str, ast.expr]) -> None:
        self.cells = cells

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.cells.get(node.id, node)

    def visit_Starred(self, node: ast.Starred) -> ast.expr | list[ast.expr]:
        made = self.visit(node.value)
        return made.elts if isinstance(made, ast.List | ast.Tuple) else node


def _table(test: ast.FunctionDef) -> tuple[list[str], list[ast.expr]]:
    """Return the columns and rows of the only decorator of a parametrized test."""
    rows = rows_of(test.decorator_list[0]) if len(test.decorator_list) == 1 else None
    if rows is None or not rows.elts or any(isinstance(row, ast.Call) for row in rows.elts):
        return [], []  # a row that is a call is a `pytest.param`, which may have an id
    (heads, _) = test.decorator_list[0].args  # type: ignore[attr-defined]
    if not is_literal(heads):
        return [], []
    names = literal(ast.unparse(heads))
    if not isinstance(names, str | list | tuple):
        return [], []
    columns = names.replace(",", " ").split() if isinstance(names, str) else [*names]
    return [str(name) for name in columns], rows.elts


def rows_of(decorator: ast.expr) -> ast.List | ast.Tuple | None:
    """Return the rows of a `parametrize` without ids, or None for another decorator."""
    match decorator:
        case ast.Call(
            func=ast.Attribute(attr="parametrize"),
            args=[_, ast.List() | ast.Tuple() as rows],
            keywords=[],
        ):
            return rows
    return None


def is_assertion(statement: ast.stmt) -> bool:
    """Return True for a statement in the form of an `OwnCase`: it asserts one thing about a call."""
    return any(isinstance(side, ast.Call) for side, _, _ in _claims(statement))


def _assertion(statement: ast.stmt, subject: TargetFunction) -> _Assertion | None:
    """Return what a statement asserts about a call of the function."""
    for side, expected, outcome in _claims(statement):
        if isinstance(side, ast.Call) and is_call_of(subject.function.name, side):
            return _Assertion(side, expected, outcome)
    return None


def _claims(statement: ast.stmt) -> list[_Claim]:
    """Return what a statement may claim about the result of a call."""
    match statement:
        case ast.Assert(test=test, msg=None):
            return _claims_of_test(test)
        case ast.With(
            items=[
                ast.withitem(ast.Call(func=ast.Attribute(attr=name), args=[error], keywords=[]))
            ],
            body=[ast.Expr(value=call)],
        ) if name in _RAISES and isinstance(error, ast.Name):
            return [(call, None, error.id)]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=sides, keywords=[])):
            return _claims_of_method(name, sides)
    return []


def _claims_of_test(test: ast.expr) -> list[_Claim]:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return [(left, right, "=="), (right, left, "==")]
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
            return [(left, right, "is")]
        case ast.UnaryOp(op=ast.Not(), operand=call):
            return [(call, None, "False")]
    return [(test, None, "True")]


def _claims_of_method(name: str, sides: Sequence[ast.expr]) -> list[_Claim]:
    """Return what a method of a unittest class may claim."""
    match name, sides:
        case (("assertEqual" | "assertEquals"), [left, right]):
            return [(left, right, "=="), (right, left, "==")]
        case (("assertTrue" | "assertFalse"), [call]):
            return [(call, None, name.removeprefix("assert"))]
    return []


def _given(call: ast.Call, subject: TargetFunction) -> dict[str, ast.expr] | None:
    """Return the arguments of a call by parameter, or None if they cannot be told."""
    given = subject.parameters
    names = [parameter.arg for parameter in (*given.posonlyargs, *given.args)][subject.implied :]
    if len(call.args) > len(names) or any(isinstance(value, ast.Starred) for value in call.args):
        return None
    named = {word.arg: word.value for word in call.keywords if word.arg}
    if len(named) < len(call.keywords):
        return None
    return dict(zip(names, call.args, strict=False)) | named


def _input(
    call: ast.Call,
    before: Sequence[ast.stmt],
    subject: TargetFunction,
    known: Mapping[str, Imported],
) -> CallInput | None:
    """Return a call with the statements that it needs, or None if it cannot be made elsewhere."""
    statements = [*before, ast.Expr(call)]
    wanted = Wanted(subject.function.name, "." not in subject.qualname)
    text = ast.unparse(call)
    made = calls_in(Snippet(statements, known, "test"), wanted, len(statements))
    return next((shown for shown in made if shown.call == text), None)


def with_arguments(
    call: CallInput, subject: TargetFunction, changed: Mapping[str, str]
) -> CallInput:
    """Return a call with other arguments for some parameters."""
    tree = parse(call.call, "eval").body
    assert isinstance(tree, ast.Call)
    given = _given(tree, subject) or {}
    replaced = {id(given[name]): parse(text, "eval").body for name, text in changed.items()}
    tree.args = [replaced.get(id(value), value) for value in tree.args]
    for word in tree.keywords:
        word.value = replaced.get(id(word.value), word.value)
    return msgspec.structs.replace(call, call=ast.unparse(tree))


def arguments_of(call: str, subject: TargetFunction) -> dict[str, str]:
    """Return the arguments of a call as source code, by parameter."""
    tree = parse(call, "eval").body
    given = _given(tree, subject) if isinstance(tree, ast.Call) else None
    return {name: ast.unparse(value) for name, value in (given or {}).items()}
