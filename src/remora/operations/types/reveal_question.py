"""The text of a file in which ty reveals the type of an expression."""

import ast

from remora.errors import HostError
from remora.operations.types.source.slots import SourceText
from remora.python_text import parse

_OPEN = "reveal_type(("
_BLOCKS = (ast.stmt, ast.excepthandler)
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""Statements after which no line is reached."""


def with_question(text: str, expression: str, line: int) -> tuple[str, int, int]:
    """Return a text that reveals the type of an expression, and the line and column of it there.

    If the line contains the expression, it is asked about in its place. Otherwise, it is asked
    about after the line's statement, or at the begin of its block. Raises HostError if neither is
    possible.
    """
    source = SourceText(text)
    try:
        wanted = ast.dump(parse(expression.strip(), "eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise HostError(f"not an expression: {expression[:200]}") from None
    found = (node for node in ast.walk(source.tree) if isinstance(node, ast.expr))
    same = [node for node in found if node.lineno == line and ast.dump(node) == wanted]
    made, place = _wrapped(source, same[0]) if same else _inserted(source, expression.strip(), line)
    try:
        parse(made)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise HostError(f"line {line} has no place to ask in; take one beside it") from None
    return made, *place


def _wrapped(source: SourceText, node: ast.expr) -> tuple[str, tuple[int, int]]:
    start, end, text = source.start(node), source.end(node), source.text
    row, column = source.place(start)
    made = f"{text[:start]}{_OPEN}{text[start:end]})){text[end:]}"
    return made, (row, column + len(_OPEN))


def _inserted(source: SourceText, expression: str, line: int) -> tuple[str, tuple[int, int]]:
    every = (node for node in ast.walk(source.tree) if isinstance(node, _BLOCKS))
    around = [node for node in every if node.lineno <= line <= (node.end_lineno or node.lineno)]
    if not around:
        raise HostError(f"line {line} has no statement")
    beside = around[-1]
    body: list[ast.stmt] = getattr(beside, "body", [])
    is_before = bool(body) or isinstance(beside, _LEAVING)
    beside = body[0] if body else beside
    decorators = getattr(beside, "decorator_list", [])
    first = min([beside.lineno, *(decorator.lineno for decorator in decorators)])
    number = first if is_before else (beside.end_lineno or beside.lineno) + 1
    lines = [text.rstrip("\r\n") for text in source.lines]
    indent = lines[beside.lineno - 1][: beside.col_offset]
    lines.insert(number - 1, f"{indent}{_OPEN}{expression}))")
    return "\n".join(lines) + "\n", (number, len(indent + _OPEN) + 1)
