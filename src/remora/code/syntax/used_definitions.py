"""The code of a file that the meaning of a function or class depends on."""

import ast
from collections.abc import Sequence

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode, find_definitions
from remora.code.syntax.signature import docstring_text

_MOST = 8
"""Definitions and constants that a node uses."""
_BEGINNING = 11
"""Lines of each of them that are shown after its first."""
_WHOLE, _ENDING = 40, 10
"""Lines of a function that is outlined whole, and of the end of a longer one."""


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
        [part.lineno, min(part.end_lineno or part.lineno, part.lineno + _BEGINNING)]
        for part in (*known, *list(others)[:_MOST])
        if part is not None and part is not node
    ]


def outline(tree: ast.Module, node: DefinitionNode) -> list[list[int]]:
    """Return the first and last lines of a node and of the beginning of its class, in few lines.

    Of a long node, these are its beginning and end.
    """
    owner = _owner(tree, node)
    spans = []
    if owner is not None:
        is_shown = docstring_text(owner.body) is not None
        spans.append([owner.lineno, max(owner.lineno, owner.body[0].lineno - (not is_shown))])
    first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
    last = node.end_lineno or node.lineno
    if last - first < _WHOLE:
        return [*spans, [first, last]]
    return [*spans, [first, first + _WHOLE - _ENDING], [last - _ENDING, last]]


def _owner(tree: ast.Module, node: DefinitionNode) -> ast.ClassDef | None:
    classes = (definition.node for definition in find_definitions(tree, ""))
    return next(
        (part for part in classes if isinstance(part, ast.ClassDef) and node in part.body), None
    )


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.stmt]:
    """Return the definitions and assignments of a body by the names that they bind."""
    found: dict[str, ast.stmt] = {}
    for part in body:
        targets = [part.target] if isinstance(part, ast.AnnAssign) else getattr(part, "targets", [])
        if isinstance(part, DEFINITIONS):
            found[part.name] = part
        found |= {target.id: part for target in targets if isinstance(target, ast.Name)}
    return found
