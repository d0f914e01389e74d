"""Assertions written with the functions that a test file uses, such as `eq_`."""

import ast
from collections import Counter

from msgspec.structs import replace

from remora.code.edit.import_edits import imported_names
from remora.code.syntax.source import parse_text
from remora.operations.test.cases.drafts import Draft

_FUNCTIONS = frozenset({"eq_", "assert_equal", "assert_equals"})


def with_file_assertions(draft: Draft, text: str) -> Draft:
    """Return the draft with the function for equal values that most tests in `text` use.

    The draft stays if most tests use `assert`. Statements with other comparisons stay, too.
    """
    tree = parse_text(text)
    used = _usual(tree) if isinstance(tree, ast.Module) else None
    body = parse_text("\n".join(draft.body))
    if used is None or not isinstance(body, ast.Module):
        return draft
    name, expected_first = used
    lines = list(draft.body)
    for one in reversed(body.body):
        match one:
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
                parts = (right, left) if expected_first else (left, right)
                call = f"{name}({', '.join(map(ast.unparse, parts))})"
                lines[one.lineno - 1 : one.end_lineno] = [call]
    return replace(draft, body=lines)


def _usual(tree: ast.Module) -> tuple[str, bool] | None:
    """Return the usual function, and whether the expected value is its first argument."""
    known = {one.bound for one in imported_names(tree)} & _FUNCTIONS
    calls = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in known
    ]
    asserts = sum(isinstance(one, ast.Assert) for one in ast.walk(tree))
    if len(calls) <= asserts:
        return None
    name = Counter(one.func.id for one in calls if isinstance(one.func, ast.Name)).most_common(1)
    pairs = [one.args for one in calls if len(one.args) > 1]
    first = sum(_is_expected(a) and not _is_expected(b) for a, b, *_ in pairs)
    second = sum(_is_expected(b) and not _is_expected(a) for a, b, *_ in pairs)
    return name[0][0], first > second


def _is_expected(value: ast.expr) -> bool:
    is_named = isinstance(value, ast.Name) and value.id.startswith("expect")
    return is_named or isinstance(value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set)
