"""Wraps signatures that annotations have made too long, one parameter per line."""

import ast
import tokenize
from collections.abc import Iterator

from remora.code.edit.edits import Edit, apply_edits
from remora.operations.types.source.slots import FunctionNode, SourceText

_INDENT = 4


def wrap_signatures(before: str, after: str, width: int) -> str:
    """Return the text with one parameter per line in signatures that have become too long.

    `before` is the text without the annotations. Signatures with comments or lambdas, and those that
    were too long before, are unchanged.
    """
    old, new = SourceText(before), SourceText(after)
    edits: list[Edit] = []
    for (_, was, _), (_, node, _) in zip(old.functions, new.functions, strict=True):
        if _longest(new, node) > width >= _longest(old, was):
            edits += _wrapped(new, node)
    return apply_edits(after, edits)


def _longest(source: SourceText, node: FunctionNode) -> int:
    """Return the length of the longest line of a signature."""
    last = max(source.place(_end(source, node))[0], node.lineno)
    return max(len(line.rstrip()) for line in source.lines[node.lineno - 1 : last])


def _end(source: SourceText, node: FunctionNode) -> int:
    return source.ends_of_parameters.get(node.lineno, source.offset(node.lineno, 0))


def _wrapped(source: SourceText, node: FunctionNode) -> Iterator[Edit]:
    end = source.ends_of_parameters.get(node.lineno)
    if end is None:
        return
    start = source.start(node)
    tokens = [each for each in source.tokens if start <= _offset(source, each.start) < end]
    if any(each.type == tokenize.COMMENT or each.string == "lambda" for each in tokens):
        return
    first = next(index for index, each in enumerate(tokens) if each.string == "(")
    opening = _offset(source, tokens[first].end)
    parts = [part.strip() for part in _parts(source, tokens[first + 1 :], opening, end - 1)]
    parts = [part for part in parts if part]
    if not parts or any("\n" in part for part in parts):
        return
    margin = source.lines[node.lineno - 1][: node.col_offset]
    newline = "\r\n" if source.lines[node.lineno - 1].endswith("\r\n") else "\n"
    indent = margin + ("\t" if "\t" in margin else " " * _INDENT)
    lines = "".join(f"{indent}{part},{newline}" for part in parts)
    yield Edit(opening, end - 1, f"{newline}{lines}{margin}")


def _offset(source: SourceText, position: tuple[int, int]) -> int:
    return source.start_of_line(position[0]) + position[1]


def _parts(
    source: SourceText, tokens: list[tokenize.TokenInfo], start: int, end: int
) -> Iterator[str]:
    """Yield the text between the commas that separate parameters."""
    depth = 0
    for token in tokens:
        if token.type != tokenize.OP:
            continue
        depth += (token.string in "([{") - (token.string in ")]}")
        if token.string == "," and depth == 0:
            yield source.text[start : _offset(source, token.start)]
            start = _offset(source, token.end)
    yield source.text[start:end]


def partly_annotated_and_longer(before: str, after: str) -> set[int]:
    """Return the numbers of functions with more lines of a signature that is still incomplete."""
    old, new = SourceText(before), SourceText(after)
    incomplete = {slot.number for slot in new.slots if slot.kind in ("parameter", "return")}
    return {
        number
        for number, (_, node, _) in enumerate(new.functions)
        if number in incomplete and _lines_of(node) > _lines_of(old.functions[number][1])
    }


def _lines_of(node: FunctionNode) -> int:
    ends = [
        each.end_lineno or 0
        for each in (*ast.walk(node.args), node.returns)
        if isinstance(each, ast.expr | ast.arg)
    ]
    return max(ends, default=node.lineno) - node.lineno
