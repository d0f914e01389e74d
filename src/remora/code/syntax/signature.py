"""What a definition says about itself in its first lines: signature, docstring, decorators."""

import ast
import copy
from collections.abc import Sequence
from typing import Any

from remora.code.syntax.definitions import DefinitionNode
from remora.code.syntax.fast_unparse import unparse_header
from remora.code.syntax.source import Source, printable

_KEYWORDS: dict[type[ast.AST], str] = {
    ast.FunctionDef: "def",
    ast.AsyncFunctionDef: "async def",
    ast.ClassDef: "class",
}


def signature(node: DefinitionNode) -> str:
    """`def foo(x: int) -> str`, `async def …`, `class A(B)`: one line, no colon at its end."""
    return printable(unparse_header(node) or _header(node))


def _header(node: DefinitionNode) -> str:
    header = copy.copy(node)
    header.body = []
    header.decorator_list = []
    try:
        return ast.unparse(header).removesuffix(":")
    except (RecursionError, ValueError):
        # a default that nests too deeply, or an integer too long to be printed in decimal
        return f"{_KEYWORDS[type(node)]} {node.name}(…)"


def docstring_summary(body: Sequence[ast.stmt]) -> str | None:
    """The docstring's first line that is not blank; null where there is none."""
    text = docstring_text(body)
    return None if text is None else first_text_line(text)


def first_text_line(text: str) -> str:
    """The first line of `text` that is not blank; empty where all are."""
    whole = text.strip()
    end = whole.find("\n")  # long docstrings are not split to the end
    lines = (whole if end < 0 else whole[:end]).splitlines()
    return printable(lines[0]) if lines else ""


def docstring_text(body: Sequence[ast.stmt]) -> str | None:
    """The docstring's value as Python sees it."""
    if body and body[0].__class__ is ast.Expr:
        first: Any = body[0].value
        if first.__class__ is ast.Constant and isinstance(first.value, str):
            return first.value
    return None


def decorator_texts(node: DefinitionNode, source: Source) -> tuple[str, ...]:
    """Source of each decorator with its `@`: `@staticmethod`."""
    return tuple("@" + source_segment(expression, source) for expression in node.decorator_list)


def source_segment(node: ast.expr, source: Source) -> str:
    """What stands in the file for `node`."""
    start = source.offset(node.lineno, node.col_offset)
    end = source.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return source.utf8[start:end].decode("utf-8", "backslashreplace")


def start_line(node: ast.stmt, source: Source) -> int:
    """The line (from 1) where `node` begins, which is the line of its first decorator's `@`."""
    found: list[ast.expr] | None = getattr(node, "decorator_list", None)
    if not found:
        return node.lineno
    line = found[0].lineno
    # in `@(` the expression may begin on a later line than its `@`
    while not source.line(line).lstrip().startswith(b"@"):
        line -= 1
    return line
