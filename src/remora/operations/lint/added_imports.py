"""Moves imports that fixes add to where the file's other imports are."""

import ast
from collections.abc import Collection, Sequence

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.import_edits import Imported, ImportStyle, import_edits, imported_names
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.definitions import ImportNode
from remora.python_text import parse


def with_added_imports_moved(before: str, after: str, style: ImportStyle) -> str:
    """Return a changed file whose new imports join the other imports of their modules.

    Those of modules that the file did not import go to their place in the order. One with no other
    import in the line above or below stays.
    """
    if "\r" in after:
        return after
    source = ParsedText(after)
    known = set(imported_names(ParsedText(before).tree))
    added = [
        node
        for node in source.tree.body
        if isinstance(node, ImportNode)
        and getattr(node, "module", "") != "__future__"
        and source.lines[node.lineno - 1].rstrip("\n") == ast.unparse(node)
        and known.isdisjoint(_names(node))
        and _is_beside_another(node, source.tree.body)
    ]
    if not added:
        return after
    lines = [
        (source.start_of_line(node.lineno), source.start_of_line(node.lineno + 1)) for node in added
    ]
    text = apply_edits(after, [Edit(start, end, "") for start, end in lines])
    needed = [name for node in added for name in _names(node)]
    moved = apply_edits(text, import_edits(ParsedText(text), needed, style))
    return after if _is_used_too_early(moved, {name.bound for name in needed}) else moved


def _is_beside_another(node: ast.stmt, statements: Sequence[ast.stmt]) -> bool:
    above, below = node.lineno - 1, (node.end_lineno or 0) + 1
    return any(
        isinstance(statement, ImportNode)
        and (statement.end_lineno == above or statement.lineno == below)
        for statement in statements
    )


def _is_used_too_early(text: str, names: Collection[str]) -> bool:
    """Return True if a name is used above its import, for example in code between the imports."""
    tree = parse(text)
    imported = {
        name.bound: node.lineno
        for node in reversed(tree.body)
        if isinstance(node, ImportNode)
        for name in _names(node)
        if name.bound in names
    }
    return any(
        isinstance(node, ast.Name) and node.lineno < imported.get(node.id, 0)
        for node in ast.walk(tree)
    )


def _names(node: ImportNode) -> list[Imported]:
    return list(imported_names(ast.Module([node], [])))
