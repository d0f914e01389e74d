"""Python code in documentation: interactive examples and code blocks."""

import ast
import doctest
import re
import textwrap
from collections.abc import Iterator

from remora.code.edit.text_lines import split_lines
from remora.code.syntax.source import parse_text

_PARSER = doctest.DocTestParser()
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

_CHANGING = frozenset(
    {"print", "pprint", "next", "pop", "popitem", "popleft", "setdefault", "add", "append", "send"}
)
"""Functions and methods that show something and also change an object, or print it."""


def code_in(text: str) -> list[ast.stmt]:
    """Return the statements of all examples in a text, in the order of the text.

    Interactive examples count everywhere, and other code only in blocks. Blocks that do not parse
    are left out.
    """
    found: list[tuple[int, list[ast.stmt]]] = []
    if ">>>" in text:
        found += _interactive(text)
    for pattern in (_FENCE, _DIRECTIVE):
        for match in pattern.finditer(text + "\n"):
            code = textwrap.dedent(match["code"])
            if ">>>" not in code:
                tree = parse_text(code)
                if isinstance(tree, ast.Module):
                    found.append((match.start(), tree.body))
    return [one for _, body in sorted(found, key=lambda each: each[0]) for one in body]


def _interactive(text: str) -> Iterator[tuple[int, list[ast.stmt]]]:
    lines = split_lines(text, keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    try:
        examples = _PARSER.get_examples(_without_other_prompts(text))
    except ValueError:  # inconsistent indentation
        return
    for one in examples:
        tree = parse_text(one.source)
        if isinstance(tree, ast.Module):
            shows = bool(one.want) and not one.exc_msg
            body = [_as_shown(each) if shows else each for each in tree.body]
            yield starts[min(one.lineno, len(lines))], body


def _as_shown(statement: ast.stmt) -> ast.stmt:
    """Return `_ = value` for an expression whose value is shown, as the interpreter does it.

    Such a call is a question, while a call that shows nothing probably changes something.
    """
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name() | ast.Attribute() as function) as value) if (
            getattr(function, "attr", getattr(function, "id", "")) not in _CHANGING
        ):
            return ast.fix_missing_locations(ast.Assign([ast.Name("_", ast.Store())], value))
    return statement


def _without_other_prompts(text: str) -> str:
    """Return the text with the end of a code fence as a blank line, so that it is not output."""
    return re.sub(r"^([ \t]*)(```+|~~~+)[^\n]*$", "", text, flags=re.MULTILINE)
