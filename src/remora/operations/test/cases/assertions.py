"""Statements of a test that make calls and assert their results."""

import ast
import io
import math
import re
import tokenize
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from remora.code.edit.text_lines import split_lines
from remora.code.syntax.source import parse_text
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import bound_names
from remora.python_text import literal, parse

_DIGITS = 6
_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
"""Characters that an editor does not show, such as variation selectors."""
_LONG_TEXT = 40
"""Length from which each line of a text is a literal of its own."""


class Style(NamedTuple):
    """The quote character, the line width without indentation, and the kind of assertions.

    If `fresh` is true, the function may change objects, so each case makes its own.
    """

    quote: str
    width: int
    unittest: bool = False
    fresh: bool = False


def case_statements(cases: Sequence[Case], style: Style) -> list[str]:
    """Return the unindented body of a test. Statements may be longer than the line width."""
    found: list[str] = []
    before: tuple[str, ...] = ()
    bound: dict[str, str] = {}
    for case in cases:
        new = [] if case.setup == before else [each for each in case.setup if _is_new(each, bound)]
        if new or (before and not case.setup):
            found += ([""] if found else []) + _lines(new, style.quote)
        before = () if style.fresh else case.setup
        found += _assertions(case, style)
    return found


def _is_new(statement: str, bound: dict[str, str]) -> bool:
    """Return False if the statement defines a function again that is still defined.

    `bound` maps names to the statements that bound them. It is updated.
    """
    tree = parse(statement).body[0]
    names = bound_names(tree)
    known = all(bound.get(name) == statement for name in names) and bool(names)
    bound.update(dict.fromkeys(names, statement))
    is_function = isinstance(tree, ast.FunctionDef | ast.ClassDef) or (
        isinstance(tree, ast.Assign) and isinstance(tree.value, ast.Lambda)
    )
    return not (known and is_function)


def _lines(statements: Sequence[str], quote: str) -> list[str]:
    written = ["\n".join(text_lines(each)) or each for each in statements]
    return [line for each in written for line in split_lines(with_quotes(each, quote))]


def text_lines(statement: str) -> list[str]:
    """Return an assignment of a text of several lines with one literal for each of them.

    Return an empty list for other statements and for short texts.
    """
    match parse(statement).body:
        case [ast.Assign(value=ast.Constant(value=str(text))) as assign] if (
            "\n" in text.rstrip("\n") and len(text) > _LONG_TEXT
        ):
            names = " = ".join(map(ast.unparse, assign.targets))
            return [
                f"{names} = (",
                *(f"    {line!r}" for line in split_lines(text, keepends=True)),
                ")",
            ]
    return []


def _assertions(case: Case, style: Style) -> list[str]:
    quote = style.quote
    taken = names_in([*case.setup, case.call])
    call = f"list({case.call})" if case.listed else case.call
    if case.raises:
        opening = "self.assertRaises" if style.unittest else "pytest.raises"
        return [f"with {opening}({case.raises}):", f"    {with_quotes(call, quote)}"]
    if not case.claims:
        return _assertion(call, case.value, style, taken)
    found: list[str] = []
    result = case.call
    if len(case.claims) > 1:
        result = _unused("result", taken)
        taken = {*taken, result}
        found = [f"{result} = {with_quotes(case.call, quote)}"]
    for left, value in case.claims:
        found += _assertion(left.replace("{}", result), value, style, taken)
    return found


def _assertion(call: str, value: str, style: Style, taken: Collection[str]) -> list[str]:
    """Return an assertion. If it does not fit on a line, the result is assigned first.

    A long collection or call stays in the assertion, because formatters can split it. A text of
    several lines is assigned with a literal for each of them, to a name that is not in `taken`.
    """
    name = _unused("expected", taken)
    texts = text_lines(f"{name} = {value}")
    if texts:
        written = split_lines(with_quotes("\n".join(texts), style.quote))
        return [*written, *_assertion(call, name, style, taken)]
    call, expected = with_quotes(call, style.quote), with_quotes(expected_value(value), style.quote)
    line = _equality(call, value, expected, style)
    splits = expected[-1] in ")]}" and len(_equality(call, "", "[", style)) <= style.width
    if len(line) <= style.width or splits or call.isidentifier():
        return [line]
    result = _unused("result", taken)
    return [f"{result} = {call}", _equality(result, value, expected, style)]


def _unused(name: str, taken: Collection[str]) -> str:
    """Return a variable's name that is not in `taken`."""
    while name in taken:
        name += "_value"
    return name


def _equality(call: str, value: str, expected: str, style: Style) -> str:
    if value in ("True", "False", "None"):
        return _truth(call, value, style)
    if not style.unittest:
        return f"assert {call} == {expected}"
    if expected.startswith("pytest.approx"):
        if value[0] not in "([":
            return f"self.assertAlmostEqual({call}, {expected[len('pytest.approx(') : -1]})"
        expected = value
    return f"self.assertEqual({call}, {expected})"


def _truth(call: str, value: str, style: Style) -> str:
    """Return the assertion that an expression is True, False or None."""
    if style.unittest:
        return f"self.assert{'IsNone' if value == 'None' else value}({call})"
    return f"assert {call} is {value}"


def expected_value(value: str) -> str:
    """Return the expected value, in which floats with many decimal places are approximate."""
    try:
        number = literal(value)
    except (ValueError, SyntaxError):
        return value
    items = number if isinstance(number, list | tuple) else [number]
    is_flat = all(isinstance(each, int | float) for each in items)
    if not is_flat or not any(map(is_rounded, items)):
        return value
    short = [_short_float(each) for each in items]
    return f"pytest.approx({short[0] if items == [number] else type(number)(short)!r})"


def is_rounded(number: object) -> bool:
    """Return True for a float whose last digits can differ between machines."""
    is_float = isinstance(number, float) and math.isfinite(number)
    return is_float and len(repr(number).partition(".")[2]) > _DIGITS


def _short_float(number: Any) -> Any:
    """Return 0.3 for 0.30000000000000004, and other numbers as they are."""
    short = round(number, _DIGITS) if isinstance(number, float) else number
    return short if math.isclose(short, number, rel_tol=1e-12) else number


def names_in(lines: Sequence[str]) -> set[str]:
    tree = parse_text("\n".join(lines))
    if not isinstance(tree, ast.Module):
        return set()
    return {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}


def with_quotes(text: str, quote: str) -> str:
    """Return the expression with `quote` around its strings, and escapes for invisible characters.

    Strings that would need escapes keep their quotes.
    """
    if quote == "'" and not _INVISIBLE.search(text):
        return text
    starts = [0, *accumulate(len(line) for line in split_lines(text, keepends=True))]
    pieces: list[str] = []
    at = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            start, end = (starts[line - 1] + column for line, column in (token.start, token.end))
            pieces += [text[at:start], _requoted(token.string, quote)]
            at = end
    return "".join(pieces) + text[at:]


def _requoted(literal: str, quote: str) -> str:
    literal = _INVISIBLE.sub(lambda found: ascii(found[0])[1:-1], literal)
    prefix, _, rest = literal.partition("'")
    body = rest[:-1]
    plain = (
        literal.endswith("'")
        and not literal.endswith("'''")
        and prefix in ("", "b")
        and quote not in body
        and "'" not in body
    )
    return f"{prefix}{quote}{body}{quote}" if plain else literal
