"""Source code of test functions for cases."""

import ast
from collections.abc import Sequence

import msgspec

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.cases.assertions import Style, case_statements
from remora.operations.test.cases.case import Case
from remora.operations.test.cases.parametrize import Table, table_of
from remora.operations.test.class_style import snake_case
from remora.operations.test.insert_location import InsertLocation
from remora.operations.test.target_function import TargetFunction
from remora.python_text import parse

_ENOUGH = 3
"""Minimum number of similar cases for a parametrized test."""
_MOST_TESTS = 4
"""Maximum number of tests of results. Beyond it, a single test has all cases."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A draft of a test function. `body` is not indented.

    `parameters` is the source between the parentheses of the signature.
    """

    name: str
    body: list[str]
    decorators: list[str] = []
    parameters: str = ""


def case_drafts(
    subject: TargetFunction,
    cases: Sequence[Case],
    home: InsertLocation,
    width: int,
    *,
    tables: bool = True,
) -> list[Draft]:
    """Return the tests of the cases, with a test for each behavior.

    Similar cases become a parametrized test. Otherwise, cases with other keyword arguments have
    their own test. Exceptions always do.
    """
    style = Style(
        home.quote,
        width - (8 if home.owner else 4),
        unittest=home.form == "unittest",
        fresh=_may_change_objects(subject.function),
    )
    values = [case for case in cases if not case.raises]
    raising = [case for case in cases if case.raises]
    tables = tables and not home.base and len(values) >= _ENOUGH  # methods of unittest have none
    table = table_of(subject, values, home, width) if tables else None
    if table is not None and len(table.rows) >= _ENOUGH:
        found = [_tabular(table, home.test_name, home)]
    else:
        found = [
            Draft(
                name=f"{home.test_name}{ending}",
                body=case_statements(group, style),
            )
            for ending, group in _by_behavior(values).items()
        ]
    if raising:
        kinds = {case.raises for case in raising}
        ending = f"_{snake_case(*kinds)}" if len(kinds) == 1 else ""
        body = case_statements(raising, style)
        found.append(Draft(name=f"{home.test_name}_raises{ending}", body=body))
    return found


def _may_change_objects(function: FunctionNode) -> bool:
    """Return True if the function sets or deletes an attribute or item, or only calls a method."""
    for one in ast.walk(function):
        match one:
            case (
                ast.Attribute(ctx=ast.Store() | ast.Del())
                | ast.Subscript(ctx=ast.Store() | ast.Del())
            ):
                return True
            case ast.Expr(value=ast.Call(func=ast.Attribute())):
                return True
    return False


def _by_behavior(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Group cases by the ending of the test's name, which says the keyword argument.

    Cases with several keyword arguments are in one test with the others.
    """
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(_ending(case), []).append(case)
    is_mixed = any(len(_keywords(case)) > 1 for case in cases)
    if len(found) == 1 or len(found) > _MOST_TESTS or is_mixed:
        return {"": list(cases)}
    return dict(sorted(found.items()))


def _ending(case: Case) -> str:
    match list(_keywords(case).items()):
        case [(name, ast.Constant(value=False)), *_]:
            return f"_without_{name}"
        case [(name, _), *_]:
            return f"_with_{name}"
    return ""


def _keywords(case: Case) -> dict[str, ast.expr]:
    call = parse(case.call, "eval").body
    words = call.keywords if isinstance(call, ast.Call) else []
    return {word.arg: word.value for word in words if word.arg}


def _tabular(table: Table, name: str, home: InsertLocation) -> Draft:
    columns = [*table.columns, "expected"]
    if home.table == "text":
        heads = f"{home.quote}{', '.join(columns)}{home.quote}"
    else:
        heads = f"({', '.join(f'{home.quote}{each}{home.quote}' for each in columns)})"
    rows = [f"        {row}," for row in table.rows]
    decorator = ["@pytest.mark.parametrize(", f"    {heads},", "    [", *rows, "    ],", ")"]
    typed = [f"{each}: {kind}" for each, kind in zip(columns, table.types, strict=True)]
    return Draft(
        name=name,
        body=[table.claim],
        decorators=decorator,
        parameters=", ".join(typed if home.typed else columns),
    )
