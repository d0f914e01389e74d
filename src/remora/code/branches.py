"""How many branches each definition's own body has."""

import ast
from collections.abc import Sequence

from remora.code.definitions import Definition, DefinitionNode


def branches(definitions: Sequence[Definition]) -> list[int]:
    """One for each definition: what is nested in it, and its header, do not count."""
    return [_of_body(definition.node.body) for definition in definitions]


def _of_body(body: Sequence[ast.stmt]) -> int:
    count = 0
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, DefinitionNode):
            continue
        count += _of(node)
        if not isinstance(node, ast.Assert):
            waiting.extend(ast.iter_child_nodes(node))
    return count


def _of(node: ast.AST) -> int:
    match node:
        case ast.Try():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.If() | ast.IfExp() | ast.Assert():
            return 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.comprehension():
            return 1 + len(node.ifs)
    return _of_match(node) if isinstance(node, ast.Match) else 0


def _of_match(node: ast.Match) -> int:
    takes_all = any(
        isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
        for case in node.cases
    )
    return max(0, len(node.cases) - takes_all)
