"""Python code in documentation: interactive examples and code blocks."""

import ast
import re
import textwrap
from collections.abc import Iterator

from remora.code.edit.text_lines import split_lines
from remora.code.syntax.source import parse_text
from remora.python_text import literal

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>```+|~~~+)[ \t]*\{?\.?(?:python|py|py3|python3|pycon|doctest)?\b[^\n]*\n"
    r"(?P<code>.*?)^(?P=indent)(?P=fence)",
    re.MULTILINE | re.DOTALL,
)
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)(?:\.\. (?:code-block|code|sourcecode|testcode|ipython)::[ \t]*(?:python|py|pycon|python3|ipython)?"
    r"|(?!\.\.)[^\n]*[^:\n]::)[ \t]*\n(?:[ \t]+:[^\n]*\n)*\n+(?P<code>(?:(?P=indent)[ \t]+[^\n]*\n|[ \t]*\n)+)",
    re.MULTILINE,
)
_COMMENTED = re.compile(
    r"^(?P<indent>[ \t]*)(?P<call>(?!print\()[\w.]+\(.*\))[ \t]*#[ \t]*(?:=>|->|=+>?|→|[Rr]eturns:?|gives:?)?[ \t]*"
    r"(?P<value>\S.*)$",
    re.MULTILINE,
)
"""A line with a call, and its result in a comment."""

_CHANGING = frozenset(
    {"print", "pprint", "next", "pop", "popitem", "popleft", "setdefault", "add", "append", "send"}
)
"""Functions and methods that show something and also change an object, or print it."""


def code_in(text: str) -> list[ast.stmt]:
    """Return the statements of all examples in a text, in the order of the text.

    Interactive examples count everywhere, and other code only in blocks. Blocks that do not parse
    are left out. A call whose result is shown is an assertion.
    """
    found: list[tuple[int, list[ast.stmt]]] = []
    if ">>>" in text:
        found += _interactive(text)
    for pattern in (_FENCE, _DIRECTIVE):
        for match in pattern.finditer(text + "\n"):
            code = textwrap.dedent(match["code"])
            if ">>>" not in code:
                tree = parse_text(_COMMENTED.sub(_as_assertion, code))
                if isinstance(tree, ast.Module):
                    found.append((match.start(), tree.body))
    return [
        statement for _, body in sorted(found, key=lambda block: block[0]) for statement in body
    ]


def _interactive(text: str) -> Iterator[tuple[int, list[ast.stmt]]]:
    from doctest import DocTestParser  # imports unittest

    lines = split_lines(text, keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    try:
        examples = DocTestParser().get_examples(_without_other_prompts(text))
    except ValueError:  # inconsistent indentation
        return
    for example in examples:
        tree = parse_text(example.source)
        if isinstance(tree, ast.Module):
            want = example.want if example.want and not example.exc_msg else ""
            body = [_as_shown(statement, want) if want else statement for statement in tree.body]
            yield starts[min(example.lineno, len(lines))], body


def _as_shown(statement: ast.stmt, want: str) -> ast.stmt:
    """Return an assertion for a call whose result is shown, as the interpreter does it.

    It is an assignment if the result is not an expression. Such a call is a question, while a call
    that shows nothing probably changes something.
    """
    match statement:
        case ast.Expr(ast.Call(ast.Name("print"), [ast.Call() as value], [])):
            return _equality(value, ast.Constant(want.removesuffix("\n")))
        case ast.Expr(value=ast.Call(func=ast.Name() | ast.Attribute() as function) as value) if (
            getattr(function, "attr", getattr(function, "id", "")) not in _CHANGING
        ):
            tree = parse_text(want.strip())
            match tree.body if isinstance(tree, ast.Module) else []:
                case [ast.Expr(value=result)]:
                    return _equality(value, result)
            return ast.fix_missing_locations(ast.Assign([ast.Name("_", ast.Store())], value))
    return statement


def _equality(call: ast.expr, result: ast.expr) -> ast.stmt:
    return ast.fix_missing_locations(ast.Assert(ast.Compare(call, [ast.Eq()], [result])))


def _as_assertion(line: re.Match[str]) -> str:
    """Return an assertion for a line such as `add(1, 2)  # => 3`, and others as they are."""
    try:
        literal(line["value"])
    except (ValueError, TypeError, SyntaxError):
        return line[0]
    return f"{line['indent']}assert {line['call']} == {line['value']}"


def _without_other_prompts(text: str) -> str:
    """Return the text with the end of a code fence as a blank line, so that it is not output."""
    return re.sub(r"^([ \t]*)(```+|~~~+)[^\n]*$", "", text, flags=re.MULTILINE)
