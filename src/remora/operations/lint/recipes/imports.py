"""Edits that import the names that fixes need."""

import ast
import re
import sys
from collections.abc import Iterator

from remora.code.edit.edits import Edit
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    Statements,
    changed_statements,
    docstring_of,
)
from remora.tools.host.ruff.finding import Finding

_TYPING = ("typing", "typing_extensions")


def is_free(source: PythonSource, module: str, name: str) -> bool:
    """Return True if `name` can be imported, or is already imported, from `module`.

    A module that uses the name for anything else cannot import it.
    """
    return name not in source.bound_names and all(
        known == module and top
        for known, imported, top in source.imported_names
        if imported == name
    )


def import_edits(source: PythonSource, needed: frozenset[tuple[str, str]]) -> Iterator[Edit]:
    """Yield the edits that import names, given as `(module, name)`, unless they are imported."""
    modules: dict[str, set[str]] = {}
    for module, name in needed:
        modules.setdefault(module, set()).add(name)
    for module, names in sorted(modules.items()):
        present = [
            node
            for node in source.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == module and node.level == 0
        ]
        known = {each.name for node in present for each in node.names if each.asname is None}
        missing = sorted(names - known)
        if not missing:
            continue
        whole = next((node for node in present if _is_one_line(source, node)), None)
        if whole is not None:
            spelled = [f"{e.name} as {e.asname}" if e.asname else e.name for e in whole.names]
            listed = ", ".join(sorted([*spelled, *missing], key=str.lower))
            start, stop = source.span(whole)
            yield Edit(start, stop, f"from {module} import {listed}")
        else:
            line = _place(source, module)
            below = source.newline * _blank_lines(source, line)
            at = source.lines[line - 1].start if line <= len(source.lines) else len(source.body)
            added = f"from {module} import {', '.join(missing)}{source.newline}"
            yield Edit(at, at, added + below)


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
        if not all(isinstance(each, ast.Import | ast.ImportFrom) for each in [*old, *new]):
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


def _place(source: PythonSource, module: str) -> int:
    """Return the line that a new import goes before."""
    line = 1
    body = source.tree.body
    if docstring_of(source.tree) is not None:
        line = (body[0].end_lineno or 0) + 1
    else:
        while line <= len(source.lines) and source.line(line).startswith("#"):
            line += 1
    for node in body:
        if docstring_of(source.tree) is not None and node is body[0]:
            continue
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_future and not (_is_standard(node) and _first_module(node) <= (module, "")):
            if not _is_standard(node):
                line = max(line, node.lineno)
                break
            continue
        line = (node.end_lineno or 0) + 1
    return line


def _blank_lines(source: PythonSource, line: int) -> int:
    """Return how many blank lines have to follow an import that is added before a line."""
    following = next((node for node in source.tree.body if node.lineno >= line), None)
    if line > len(source.lines) or not source.line(line).strip() or following is None:
        return 0
    if isinstance(following, ast.Import | ast.ImportFrom):
        return 0
    is_block = isinstance(following, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return 2 if is_block else 1


def _is_standard(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and (node.module or "").split(".")[0] in sys.stdlib_module_names
    return isinstance(node, ast.Import) and all(
        each.name.split(".")[0] in sys.stdlib_module_names for each in node.names
    )


def _first_module(node: ast.stmt) -> tuple[str, str]:
    """Return a key that sorts a plain import before imports from modules."""
    if isinstance(node, ast.ImportFrom):
        return node.module or "", ""
    return "", node.names[0].name if isinstance(node, ast.Import) else ""


UNUSED_IMPORTS = Recipe(codes=("UP035", "F401"), fix=remove_unused, keeps=_keeps_used_names)
