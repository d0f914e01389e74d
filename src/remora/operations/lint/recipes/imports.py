"""Edits that import the names that fixes need."""

import ast
import re
from collections.abc import Iterator

from remora.code.edit.edits import Edit
from remora.code.edit.import_edits import Imported, ImportStyle, import_edits
from remora.code.edit.text_lines import with_newline
from remora.code.syntax.definitions import ImportNode
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    Statements,
    changed_statements,
)
from remora.tools.host.ruff.finding import Finding

_TYPING = ("typing", "typing_extensions")


def needed_imports(source: PythonSource, needed: frozenset[tuple[str, str]]) -> list[Edit]:
    """Return the edits that import names, given as `(module, name)`, unless they are imported."""
    known = {(module, name) for module, name, _ in source.imported_names}
    wanted = [Imported(module, name, name) for module, name in sorted(needed - known)]
    if not wanted:
        return []
    edits = import_edits(source.parsed, wanted, ImportStyle(source.width))
    return [each._replace(text=with_newline(each.text, source.newline)) for each in edits]


def remove_unused(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """UP035 and F401: remove names of `typing` that the file used only before it was fixed."""
    around = source.enclosing(source.position(finding["line"], finding["column"]))
    node = around[-1]
    if not isinstance(node, ast.ImportFrom) or node.module not in _TYPING:
        return None
    unused = [
        each
        for each in node.names
        if each.asname is None
        and each.name in source.conventions.names_before
        and each.name not in source.once(_used_words)
    ]
    if not unused or node not in source.tree.body:
        return None
    edits = _without_names(source, node, unused)
    return RecipeFix(edits) if edits else None


def _without_names(
    source: PythonSource, node: ast.ImportFrom, unused: list[ast.alias]
) -> tuple[Edit, ...]:
    """Return the edits that remove names from an import, or an empty tuple."""
    left = [each for each in node.names if each not in unused]
    start, stop = source.span(node)
    if not left:
        last = source.lines[(node.end_lineno or 0) - 1]
        is_alone = node.col_offset == 0 and stop == last.stop
        return (Edit(start, last.next, ""),) if is_alone else ()
    if _is_one_line(source, node):
        spelled = [f"{each.name} as {each.asname}" if each.asname else each.name for each in left]
        return (Edit(start, stop, f"from {node.module} import {', '.join(spelled)}"),)
    if any(source.line(each.lineno).strip() not in (each.name, f"{each.name},") for each in unused):
        return ()
    lines = [source.lines[each.lineno - 1] for each in unused]
    return tuple(Edit(line.start, line.next, "") for line in lines)


def _used_words(source: PythonSource) -> frozenset[str]:
    """Return the names that the file uses, also in strings that are not docstrings."""
    literals = set(map(id, source.docstrings))
    found: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(re.findall(r"\w+", node.value) if id(node) not in literals else ())
    return frozenset(found)


def _keeps_used_names(before: PythonSource, after: PythonSource) -> bool:
    """Return True if two versions differ only in imports of names that are not used."""
    used = before.once(_used_words)
    for old, new in changed_statements(before, after):
        if not all(isinstance(each, ImportNode) for each in [*old, *new]):
            return False
        lost = set(_imported(old)) - set(_imported(new))
        if set(_imported(new)) - set(_imported(old)):
            return False
        if any(module not in _TYPING or name in used for module, name in lost):
            return False
    return True


def _imported(statements: Statements) -> Iterator[tuple[str | None, str]]:
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, each.asname or each.name) for each in node.names)
        else:
            yield None, ast.unparse(node)


def _is_one_line(source: PythonSource, node: ast.ImportFrom) -> bool:
    return node.lineno == node.end_lineno and "(" not in source.text(node)


UNUSED_IMPORTS = Recipe(codes=("UP035", "F401"), fix=remove_unused, keeps=_keeps_used_names)
