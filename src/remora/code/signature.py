"""What a definition says about itself: signature, docstring, decorators."""

import ast
import copy
from collections.abc import Sequence

from remora.code.source import printable

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_KEYWORDS: dict[type[ast.AST], str] = {
    ast.FunctionDef: "def",
    ast.AsyncFunctionDef: "async def",
    ast.ClassDef: "class",
}


def signature(node: Definition) -> str:
    """`def foo(x: int) -> str`, `async def …`, `class A(B)`: one line, no colon at its end."""
    header = copy.copy(node)
    header.body = []
    header.decorator_list = []
    try:
        return printable(ast.unparse(header).removesuffix(":"))
    except (RecursionError, ValueError):
        # a default that nests too deeply, or an integer too long to be printed in decimal
        return f"{_KEYWORDS[type(node)]} {node.name}(…)"


def docstring(body: Sequence[ast.stmt]) -> str | None:
    """The docstring's first line that is not blank; null where there is none."""
    text = docstring_text(body)
    if text is None:
        return None
    lines = text.strip().splitlines()
    return printable(lines[0]) if lines else ""


def docstring_text(body: Sequence[ast.stmt]) -> str | None:
    """The docstring's value as Python sees it."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
            return text
    return None


def decorators(node: Definition, utf8: Sequence[bytes]) -> tuple[str, ...]:
    """Source of each decorator with its `@`: `@staticmethod`."""
    return tuple("@" + _segment(expression, utf8) for expression in node.decorator_list)


def _segment(node: ast.expr, utf8: Sequence[bytes]) -> str:
    last = node.end_lineno or node.lineno
    lines = list(utf8[node.lineno - 1 : last])
    lines[-1] = lines[-1][: node.end_col_offset]
    lines[0] = lines[0][node.col_offset :]
    return b"\n".join(lines).decode("utf-8", "backslashreplace")


def first_line(node: ast.stmt, utf8: Sequence[bytes]) -> int:
    """The line (from 1) where `node` begins, which is the line of its first decorator's `@`."""
    found: list[ast.expr] = getattr(node, "decorator_list", [])
    if not found:
        return node.lineno
    line = found[0].lineno
    # in `@(` the expression may begin on a later line than its `@`
    while not utf8[line - 1].lstrip().startswith(b"@"):
        line -= 1
    return line
