"""Host function that returns the type of an expression."""

import ast
from typing import Any

from remora.code.edit.text_lines import decode
from remora.errors import HostError
from remora.judges.types.slots import SourceText
from remora.operations.types.session import project_texts, session_for
from remora.python_text import parse
from remora.tools.tree import ToolTree

_OPEN = "reveal_type(("
_BLOCKS = (ast.stmt, ast.excepthandler)
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""Statements after which no line is reached."""


def reveal(place: ToolTree, path: str, expression: str, line: int) -> dict[str, Any]:
    """Return what ty says the type of an expression is at a line of a file, in `type`.

    If it is empty, `why` is the reason.
    """
    try:
        changed, row, column = _with_question(decode(path, place.read(path)).body, expression, line)
    except HostError as error:
        return {"type": "", "why": error.message}
    types = session_for(place, place.once(project_texts)).reveal(path, changed, place.left)
    # the parentheses around a tuple without its own belong to it
    shown = types.get((path, row, column)) or types.get((path, row, column - 1), "")
    return {
        "type": shown,
        "why": "" if shown else f"ty says nothing of {expression} at line {line}",
    }


def _with_question(text: str, expression: str, line: int) -> tuple[str, int, int]:
    """Return a text that reveals the type of an expression, and the line and column of it there.

    If the line contains the expression, it is wrapped in place. Otherwise, a statement is inserted
    after the line's statement, or at the beginning of its block. Raises HostError if neither is
    possible.
    """
    source = SourceText(text)
    try:
        wanted = ast.dump(parse(expression.strip(), "eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise HostError(f"not an expression: {expression[:200]}") from None
    expressions = (node for node in ast.walk(source.tree) if isinstance(node, ast.expr))
    same = [node for node in expressions if node.lineno == line and ast.dump(node) == wanted]
    changed, place = (
        _wrapped(source, same[0]) if same else _inserted(source, expression.strip(), line)
    )
    try:
        parse(changed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise HostError(f"line {line} has no place to ask in; take one beside it") from None
    return changed, *place


def _wrapped(source: SourceText, node: ast.expr) -> tuple[str, tuple[int, int]]:
    start, end, text = source.start(node), source.end(node), source.text
    row, column = source.position(start)
    changed = f"{text[:start]}{_OPEN}{text[start:end]})){text[end:]}"
    return changed, (row, column + len(_OPEN))


def _inserted(source: SourceText, expression: str, line: int) -> tuple[str, tuple[int, int]]:
    blocks = (node for node in ast.walk(source.tree) if isinstance(node, _BLOCKS))
    around = [node for node in blocks if node.lineno <= line <= (node.end_lineno or node.lineno)]
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
