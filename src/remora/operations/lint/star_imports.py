"""Imports of all names of a module, whose order may matter."""

import ast
from collections.abc import Iterator

from remora.code.syntax.source import parse_text
from remora.tools.tree import ToolTree

_LEAST = 2


def may_replace_names(place: ToolTree, path: str, body: str) -> bool:
    """Return True if two or more `import *` in a file may import the same name.

    The names that they import must be known: those of `__all__` in modules of the project.
    """
    tree = parse_text(body)
    if isinstance(tree, str):
        return False
    imports = [each for each in tree.body if isinstance(each, ast.ImportFrom)]
    stars = [each for each in imports if each.names[0].name == "*"]
    if len(stars) < _LEAST:
        return False
    names: list[str] = []
    for each in imports:
        if each in stars:
            exported = _exported(place, path, each)
            if exported is None:
                return True
            names += set(exported)
        else:
            names += [alias.asname or alias.name for alias in each.names]
    return len(set(names)) < len(names)


def _exported(place: ToolTree, path: str, statement: ast.ImportFrom) -> list[str] | None:
    """Return the names in `__all__` of an imported module, or None if they are not known."""
    for candidate in _paths(path, statement):
        tree = parse_text(place.text_or_empty(candidate))
        if isinstance(tree, str):
            continue
        uses = [
            node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__all__"
        ]
        for node in tree.body:
            if isinstance(node, ast.Assign) and node.targets == uses:
                return _strings(node.value)
    return None


def _strings(value: ast.expr) -> list[str] | None:
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    names = [each.value for each in value.elts if isinstance(each, ast.Constant)]
    return [str(name) for name in names] if len(names) == len(value.elts) else None


def _paths(path: str, statement: ast.ImportFrom) -> Iterator[str]:
    """Yield the paths that the module of an import may have."""
    parts = (statement.module or "").split(".") if statement.module else []
    folder = path.split("/")[:-1]
    if statement.level:
        starts = [folder[: len(folder) - statement.level + 1]]
    else:
        starts = [folder[:count] for count in range(len(folder), -1, -1)]
    for start in starts:
        module = "/".join([*start, *parts])
        yield f"{module}.py"
        yield f"{module}/__init__.py"
