"""The code of a file that the meaning of a function or class depends on."""

import ast
from collections.abc import Sequence

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode

_MOST = 8
"""Definitions and constants that a node uses."""
_BEGINNING = 11
"""Lines of each of them that are shown after its first."""


def lines_used_by(tree: ast.Module, node: DefinitionNode) -> list[list[int]]:
    """Return the first and last lines of code in a file that the meaning of a node depends on.

    These are the beginnings of its class and of the constructor, and of the functions, classes and
    constants of the module and of its class that it names.
    """
    owner = next(
        (part for part in ast.walk(tree) if isinstance(part, ast.ClassDef) and node in part.body),
        None,
    )
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


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.stmt]:
    """Return the definitions and assignments of a body by the names that they bind."""
    found: dict[str, ast.stmt] = {}
    for part in body:
        targets = [part.target] if isinstance(part, ast.AnnAssign) else getattr(part, "targets", [])
        if isinstance(part, DEFINITIONS):
            found[part.name] = part
        found |= {target.id: part for target in targets if isinstance(target, ast.Name)}
    return found
