"""The code of a file that the meaning of a function or class depends on."""

import ast
from collections.abc import Sequence

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode
from remora.code.syntax.signature import docstring_text

_MOST = 8
"""Definitions and constants that a node uses."""
_BEGINNING = 11
"""Lines of each of them that are shown after its first."""
_OUTLINE, _WHOLE, _ENDING = 24, 40, 10
"""Lines of an outlined class; of a function that is shown whole; and of the end of a longer one."""


def lines_used_by(tree: ast.Module, node: DefinitionNode) -> list[list[int]]:
    """Return the first and last lines of code in a file that the meaning of a node depends on.

    These are the beginnings of its class and of the constructor, and of the functions, classes and
    constants of the module and of its class that it names.
    """
    owner = _owner(tree, node)
    of_module, of_class = _bound(tree.body), _bound(owner.body) if owner is not None else {}
    used: list[ast.stmt | None] = []
    named = [part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)]
    for part in sorted(named, key=lambda part: (part.lineno, part.col_offset)):
        if isinstance(part, ast.Name):
            used.append(of_module.get(part.id))
        elif isinstance(part.value, ast.Name) and part.value.id in ("self", "cls"):
            used.append(of_class.get(part.attr))
    known = [owner, of_class.get("__init__")]
    others = dict.fromkeys(part for part in used if part is not None and part not in (*known, node))
    return [
        _beginning(part)
        for part in (*known, *list(others)[:_MOST])
        if part is not None and part is not node
    ]


def outline(tree: ast.Module, node: DefinitionNode) -> list[list[int]]:
    """Return the first and last lines that show what a node is for, in few lines.

    These are the beginning of its class, and the whole of a function, or else of a class its
    assignments, the beginning of its constructor, and the first lines of its other functions.
    """
    owner = _owner(tree, node)
    spans = [_heading(owner)] if owner is not None else []
    first = min((each.lineno for each in node.decorator_list), default=node.lineno)
    if isinstance(node, ast.ClassDef):
        spans.append([first, node.lineno])
        for part in node.body:
            if isinstance(part, DEFINITIONS) and part.name != "__init__":
                spans.append(_heading(part))
            else:
                spans.append(_beginning(part))
            if sum(end - start + 1 for start, end in spans) > _OUTLINE:
                break
        return spans
    last = node.end_lineno or node.lineno
    if last - first < _WHOLE:
        return [*spans, [first, last]]
    return [*spans, [first, first + _WHOLE - _ENDING], [last - _ENDING, last]]


def _owner(tree: ast.Module, node: DefinitionNode) -> ast.ClassDef | None:
    return next(
        (part for part in ast.walk(tree) if isinstance(part, ast.ClassDef) and node in part.body),
        None,
    )


def _beginning(part: ast.stmt) -> list[int]:
    return [part.lineno, min(part.end_lineno or part.lineno, part.lineno + _BEGINNING)]


def _heading(node: DefinitionNode) -> list[int]:
    """Return the lines of a definition up to the first line of its docstring, or of its body."""
    is_shown = docstring_text(node.body) is not None
    return [node.lineno, max(node.lineno, node.body[0].lineno - (not is_shown))]


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.stmt]:
    """Return the definitions and assignments of a body by the names that they bind."""
    found: dict[str, ast.stmt] = {}
    for part in body:
        targets = [part.target] if isinstance(part, ast.AnnAssign) else getattr(part, "targets", [])
        if isinstance(part, DEFINITIONS):
            found[part.name] = part
        found |= {target.id: part for target in targets if isinstance(target, ast.Name)}
    return found
