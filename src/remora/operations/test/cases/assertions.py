"""Statements of a test that make calls and assert their results."""

import ast
import io
import math
import re
import tokenize
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from msgspec.structs import replace

from remora.code.edit.import_edits import Imported
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
_TEXT = 3
"""Length of a list of ASCII codes from which it is written as bytes."""


_SIDES = ast.Call | ast.Attribute | ast.Subscript | ast.Name | ast.BinOp
"""Expressions that need no parentheses beside `==`."""


class Style(NamedTuple):
    """The quote character, the line width without indentation, and the kind of assertions."""

    quote: str
    width: int
    unittest: bool = False


def case_statements(cases: Sequence[Case], style: Style) -> list[str]:
    """Return the unindented body of a test. Statements may be longer than the line width.

    The class of the results is asserted once, unless a case asserts nothing else.
    """
    found: list[str] = []
    before: tuple[str, ...] = ()
    bound: dict[str, str] = {}
    classes: set[tuple[str, str]] = set()
    for case in cases:
        new = [] if case.setup == before else [each for each in case.setup if _is_new(each, bound)]
        if new or (before and not case.setup):
            found += ([""] if found else []) + _lines(new, style.quote)
        before = () if _changes_objects(case) else case.setup
        claims = [each for each in case.claims if each not in classes] or case.claims
        found += _assertions(replace(case, claims=tuple(claims)), style)
        classes |= {each for each in claims if each[0].startswith("isinstance(")}
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


def _changes_objects(case: Case) -> bool:
    return any("{}" not in left for left, _ in case.claims)


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


def text_variable(case: Case) -> str:
    """Return the variable that already has the expected text of several lines, if there is one.

    It is bound only once, so it still has the text when the result is asserted.
    """
    times = Counter(name for each in case.setup for name in _bound_by(each))
    for each in case.setup:
        match parse(each).body:
            case [ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as text)] if (
                times[name] == 1 and text_lines(each) and ast.unparse(text) == case.value
            ):
                return name
    return ""


def _bound_by(statement: str) -> set[str]:
    return set().union(*map(bound_names, parse(statement).body))


def _assertions(case: Case, style: Style) -> list[str]:
    quote = style.quote
    taken = names_in([*case.setup, case.call])
    call = f"list({case.call})" if case.listed else case.call
    if case.raises:
        opening = "self.assertRaises" if style.unittest else "pytest.raises"
        return [f"with {opening}({case.raises}):", f"    {with_quotes(call, quote)}"]
    if not case.claims:
        return _assertion(call, text_variable(case) or case.value, style, taken)
    of_result = sum("{}" in left for left, _ in case.claims)
    found: list[str] = []
    result = case.call
    if not of_result:
        found = [with_quotes(case.call, quote)]
    elif of_result > 1:
        result = _unused("result", taken)
        taken = {*taken, result}
        found = [f"{result} = {with_quotes(case.call, quote)}"]
    for left, value in case.claims:
        found += _assertion(left.replace("{}", result), value, style, taken)
    return found


def _assertion(call: str, value: str, style: Style, taken: Collection[str] = ()) -> list[str]:
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
    sides = _sides(call) if value == "True" and len(line) > style.width else None
    if sides is not None:
        return _assertion(*sides, style, taken)
    splits = expected[-1] in ")]}" and len(_equality(call, "", "[", style)) <= style.width
    if len(line) <= style.width or splits or call.isidentifier():
        return [line]
    result = _unused("result", taken)
    return [f"{result} = {call}", _equality(result, value, expected, style)]


def _sides(call: str) -> tuple[str, str] | None:
    """Return both sides of `f(x) == g(y)`, or None for another expression."""
    match parse(call, "eval").body:
        case ast.Compare(left, [ast.Eq()], [right]) if isinstance(left, _SIDES) and isinstance(
            right, _SIDES
        ):
            return ast.unparse(left), ast.unparse(right)
    return None


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
    is_true = value == "True"
    match parse(call, "eval").body:
        case ast.Compare(left, [ast.In() | ast.Eq() as op], [right]) if style.unittest and is_true:
            parts = [with_quotes(ast.unparse(each), style.quote) for each in (left, right)]
            plain, method = "", type(op).__name__.replace("Eq", "Equal")
        case ast.Compare(left, [ast.In()], [right]) if not is_true:
            parts = [with_quotes(ast.unparse(each), style.quote) for each in (left, right)]
            call = with_quotes(ast.unparse(ast.Compare(left, [ast.NotIn()], [right])), style.quote)
            plain, method = "", "NotIn"
        case ast.Compare() | ast.Call(ast.Name("all" | "any")) if is_true:
            parts, plain, method = [call], "", "True"
        case ast.Call(ast.Name("isinstance"), args) if is_true:
            parts = [ast.unparse(each) for each in args]
            plain, method = "", "IsInstance"
        case ast.Call(ast.Name("bool"), [inner]) if value == "False":
            parts, plain, method = [with_quotes(ast.unparse(inner), style.quote)], "", "False"
            call = with_quotes(ast.unparse(ast.UnaryOp(ast.Not(), inner)), style.quote)
        case _:
            parts, plain, method = [call], f"is {value}", "IsNone" if value == "None" else value
    if style.unittest:
        return f"self.assert{method}({', '.join(parts)})"
    return f"assert {call} {plain}".rstrip()


def expected_value(value: str) -> str:
    """Return the expected value as a person writes it.

    Floats with many decimal places become `pytest.approx(...)`, also as items, a list of ASCII
    codes becomes `list(b"...")`, and bytes that are mostly not ASCII become `bytes.fromhex("...")`.
    """
    try:
        number = literal(value)
    except (ValueError, SyntaxError):
        return value
    if isinstance(number, bytes) and escapes_of(number) > max(_TEXT, len(number) // 2):
        return f"bytes.fromhex({number.hex()!r})"
    if isinstance(number, list) and len(number) >= _TEXT and all(map(_is_letter_code, number)):
        return f"list({bytes(number)!r})"
    items = number if isinstance(number, list | tuple) else [number]
    is_flat = all(isinstance(each, int | float) for each in items)
    if not is_flat or not any(map(is_rounded, items)):
        return value
    short = [short_float(each) for each in items]
    return f"pytest.approx({short[0] if items == [number] else type(number)(short)!r})"


def escapes_of(value: bytes) -> int:
    """Return how many bytes are not visible ASCII characters."""
    return sum(not 32 <= each < 127 for each in value)


def is_rounded(number: object) -> bool:
    """Return True for a float whose last digits can differ between machines."""
    is_float = isinstance(number, float) and math.isfinite(number)
    return is_float and len(repr(number).partition(".")[2]) > _DIGITS


def short_float(number: Any) -> Any:
    """Return 0.3 for 0.30000000000000004, and other numbers as they are."""
    short = round(number, _DIGITS) if isinstance(number, float) else number
    return short if math.isclose(short, number, rel_tol=1e-12) else number


def _is_letter_code(item: object) -> bool:
    return type(item) is int and 32 <= item < 127


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


class _Attribute(ast.NodeTransformer):
    """Replaces names with attributes of a module."""

    def __init__(self, names: frozenset[str], alias: str) -> None:
        self._names = names
        self._alias = alias

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._names:
            return node
        return ast.Attribute(ast.Name(self._alias), node.id)


def with_alias(case: Case, alias: str, known: Mapping[str, Imported], module: str) -> Case:
    """Return the case with names of a module as attributes of `alias`, as in `mi.chunked(...)`."""
    variables = {name for each in case.setup for name in bound_names(parse(each).body[0])}
    names = frozenset(
        n for n, one in known.items() if one.module == module and one.name == n
    ).difference(variables)
    change = _Attribute(names, alias)

    def changed(text: str) -> str:
        if not text:
            return text
        try:
            tree: ast.AST = parse(text, "eval")
        except SyntaxError:
            tree = parse(text)
        return ast.unparse(change.visit(tree))

    return replace(
        case,
        call=changed(case.call),
        setup=tuple(map(changed, case.setup)),
        value=changed(case.value),
        claims=tuple((changed(left), changed(text)) for left, text in case.claims),
        raises=f"{alias}.{case.raises}" if case.raises in names else case.raises,
    )
