"""Host function that judges a replacement of a line, because ruff also accepts deleted code."""

import ast
from collections import Counter
from typing import Any

from remora.code.edit.text_lines import decode, lines_of
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.tools.tree import ToolTree


def line_problem(place: ToolTree, path: str, line: int, replace: str) -> str:
    """Return why a replacement of a line of a Python file is refused, or an empty string.

    It must be one line with code, and the file must still parse. All statements keep their types,
    so `return price` cannot become `pass`. A name or value may be replaced, but not dropped, so it
    cannot become `return None` either.
    """
    body = decode(path, place.read(path)).body
    lines = lines_of(body)
    if not 1 <= line <= len(lines):
        raise HostError(f"{path}: there is no line {line}; the file has {len(lines)} lines")
    start, stop, _ = lines[line - 1]
    if replace.splitlines() != [replace] or not _has_code(replace, body[start:stop]):
        return "a replacement is one line with code"
    before, after = parse_text(body), parse_text(body[:start] + replace + body[stop:])
    if isinstance(before, str) or isinstance(after, str):
        return "the file would have a syntax error"
    if _statements(before) != _statements(after):
        return "a replacement keeps the type of the statement"
    kept, new = _values(before), _values(after)
    return "a replacement drops no name or value" if kept - new and not new - kept else ""


def _has_code(replace: str, expect: str) -> bool:
    """Return False for a placeholder, and for a comment in place of code."""
    text = replace.strip()
    if text.startswith("#"):
        return expect.lstrip().startswith("#")
    return text.partition("#")[0].rstrip("; \t") not in ("", "pass", "...")


def _statements(tree: ast.AST) -> list[type[ast.stmt]]:
    return [type(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _values(tree: ast.AST) -> Counter[str]:
    """Return how often each name and each value other than `None` and `...` occurs in a tree."""
    return Counter(
        repr(value)
        for node in ast.walk(tree)
        for field in ast.iter_fields(node)
        for value in _items(field[1])
    )


def _items(value: Any) -> list[Any]:
    items = value if isinstance(value, list) else [value]
    return [each for each in items if each not in (None, ...) and not isinstance(each, ast.AST)]
