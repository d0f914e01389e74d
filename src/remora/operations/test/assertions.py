"""Source code of tests: examples with their results, and values with the quotes of a file."""

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from itertools import accumulate

from remora.code.edit.text_lines import split_lines
from remora.judges.calls.case import Case
from remora.operations.test.insert_location import InsertLocation
from remora.python_text import parse

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
"""Characters that an editor does not show, such as variation selectors."""
TRUTHS = frozenset({"True", "False", "None"})


def example_test(name: str, cases: Sequence[Case], home: InsertLocation) -> str:
    """Return the source of a test that repeats examples, in the order in which they are shown.

    Each has the statements before it that it needs, unless the one before has the same.
    """
    lines = [home.docstring] if home.docstring else []
    before: tuple[str, ...] = ()
    for case in cases:
        if case.setup != before:
            lines += case.setup
        before = case.setup
        lines.append(_assertion(case, home.alias))
    body = "\n".join(lines)
    arrow = " -> None" if home.typed else ""
    indented = "\n".join(f"    {line}" if line else "" for line in split_lines(body))
    return f"def {name}(){arrow}:\n{indented}\n"


def _assertion(case: Case, alias: str) -> str:
    """Return the assertion of a call, in which the function is an attribute of `alias`, if any."""
    call = parse(case.call, "eval").body
    assert isinstance(call, ast.Call)
    if alias and isinstance(call.func, ast.Name):
        call.func = ast.Attribute(ast.Name(alias), call.func.id)
    text = f"list({ast.unparse(call)})" if case.listed else ast.unparse(call)
    return f"assert {text} {'is' if case.value in TRUTHS else '=='} {case.value}"


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
    literal = _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], literal)
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
