"""Lengths of calls and results up to which a reader accepts a case."""

import ast
from collections.abc import Sequence

from remora.operations.test.cases.assertions import expected_value, text_lines, text_variable
from remora.operations.test.cases.case import Case
from remora.operations.test.cases.parametrize import MOST_COLUMNS
from remora.python_text import parse

_MOST_VARIABLES = 2
"""Number of cases of a test whose results are assigned to a variable before they are compared."""
_WIDTH = 80
_MOST_LINES = 6
_MOST_SETUP_LINES = 10
_MOST_TEXT_LINES = 16
_LONGEST_TEXT = 70
_LONGEST_TEXT_LINE = 100
"""What a reader accepts: lines of an expected value or a call, of the statements before it, and of
texts that these assign; and characters of a text that no formatter splits, and of each line of a
text of several lines."""


def is_too_long(case: Case) -> bool:
    """Return True for a long result, call or preparation, or a text that no formatter splits."""
    statements = [each for each in case.setup if not text_lines(each)]
    texts = [part for each in (case.call, *statements) for part in ast.walk(parse(each))]
    if any(len(ast.unparse(one)) > _LONGEST_TEXT for one in texts if isinstance(one, ast.Constant)):
        return True
    written = [line for each in case.setup for line in text_lines(each)]
    values = [] if text_variable(case) else case.values
    expected = [line for text in values for line in text_lines(f"expected = {text}")]
    if len(written) + len(expected) > _MOST_TEXT_LINES or any(
        len(line) > _LONGEST_TEXT_LINE for line in written
    ):
        return True
    setup = sum(_height(line) for each in statements for line in each.splitlines())
    lines = [_height(case.call), *(_height(text, len(case.call)) for text in case.values)]
    return setup > _MOST_SETUP_LINES or max(lines) > _MOST_LINES


def repeats_variable(case: Case, chosen: Sequence[Case]) -> bool:
    """Return True if the case is one more that needs a variable, and no table can hold the calls."""
    alike = [one for one in (*chosen, case) if _needs_variable(one)]
    if not _needs_variable(case) or len(alike) <= _MOST_VARIABLES:
        return False
    calls = [parse(one.call, "eval").body for one in alike]
    passed = {
        name
        for call in calls
        if isinstance(call, ast.Call)
        for name in (*range(len(call.args)), *(word.arg for word in call.keywords))
    }
    return len(passed) > MOST_COLUMNS or any(one.claims or one.setup for one in alike)


def _needs_variable(case: Case) -> bool:
    """Return True if the result is assigned first, because its comparison does not fit on a line."""
    if case.raises or len(case.claims) > 1:
        return not case.raises
    text = expected_value("".join(case.values))
    splits = text[-1:] in (")", "]", "}") and len(case.call) < _WIDTH
    return not splits and len(case.call) + len(text) > _WIDTH


def _height(source: str, before: int = 0) -> int:
    """Return the number of lines of an expression that a formatter splits.

    Its items are on one line if they fit, and otherwise on a line each. `before` is the length of
    what is on the same line.
    """
    if len(source) + before <= _WIDTH or expected_value(source) != source:
        return 1
    match parse(source).body:
        case [ast.Expr(value=ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts))]:
            items = [ast.unparse(part) for part in parts]
        case [ast.Expr(value=ast.Dict(values=parts))]:
            items = [ast.unparse(part) for part in parts]
        case [ast.Expr(value=ast.Call(args=args, keywords=words))]:
            items = [ast.unparse(part) for part in (*args, *(word.value for word in words))]
        case _:
            return -(-len(source) // _WIDTH)
    return 2 + (1 if len(", ".join(items)) <= _WIDTH - 8 else sum(map(_height, items)))
