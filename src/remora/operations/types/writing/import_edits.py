"""Edits that add imports to a file, in the way in which the file imports already."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from remora.operations.types.source.project_index import File, is_type_checking
from remora.operations.types.source.slots import Edit, SourceText
from remora.operations.types.writing.annotation_names import Import


def import_edits(file: File, needed: Iterable[Import]) -> list[Edit]:
    """Return the edits that import names into a file.

    Names that only type checkers need are imported in a `TYPE_CHECKING` block.
    """
    wanted = {each for each in needed if each.name not in file.imports}
    plain = {each for each in wanted if not each.lazy}
    lazy = wanted - plain
    block = _checking_block(file.source.tree)
    if lazy and block is None and "TYPE_CHECKING" not in file.imports:
        plain.add(Import("typing", "TYPE_CHECKING", False))
    top = [each for each in _head(file.source.tree.body) if _is_import(each)]
    edits, rest = _into_statements(file.source, top, plain)
    edits += _new_lines(file.source, top, rest)
    inside = [each for each in block.body if _is_import(each)] if block else []
    lazy_edits, lazy_rest = _into_statements(file.source, inside, lazy)
    return [*edits, *lazy_edits, *_lazy_lines(file.source, top, block, lazy_rest)]


def _head(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements before the first function or class."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        yield node


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _checking_block(tree: ast.Module) -> ast.If | None:
    blocks = (
        each
        for each in tree.body
        if isinstance(each, ast.If)
        and is_type_checking(each.test)
        and each.body[0].lineno > each.lineno
    )
    return next(blocks, None)


def _into_statements(
    source: SourceText, statements: Sequence[ast.stmt], wanted: Iterable[Import]
) -> tuple[list[Edit], list[Import]]:
    """Add names to `from` imports of the same module. Return the edits and the other imports."""
    by_module: dict[str, ast.ImportFrom] = {}
    for each in statements:
        if isinstance(each, ast.ImportFrom) and each.names[0].name != "*":
            by_module.setdefault("." * each.level + (each.module or ""), each)
    edits: list[Edit] = []
    rest: list[Import] = []
    grouped: dict[int, tuple[ast.ImportFrom, list[str]]] = {}
    for needed in sorted(wanted):
        node = by_module.get(needed.module)
        if node is None:
            rest.append(needed)
        else:
            grouped.setdefault(id(node), (node, []))[1].append(needed.name)
    for node, names in grouped.values():
        edits += _added_names(source, node, names)
    return edits, rest


def _added_names(source: SourceText, node: ast.ImportFrom, names: list[str]) -> Iterator[Edit]:
    is_split = len({alias.lineno for alias in node.names}) > 1
    indent = _margin(source, node.names[-1].lineno) if is_split else ""
    for name in sorted(names, key=_sort_key):
        before = [alias for alias in node.names if _sort_key(alias.name) < _sort_key(name)]
        near = before[-1] if before else node.names[0]
        start = source.offset(near.lineno, near.col_offset)
        assert near.end_lineno is not None
        assert near.end_col_offset is not None
        end = source.offset(near.end_lineno, near.end_col_offset)
        separator = f",\n{indent}" if is_split else ", "
        yield Edit(end, end, separator + name) if before else Edit(start, start, name + separator)


def _margin(source: SourceText, line: int) -> str:
    """Return the white space at the start of a line."""
    text = source.lines[line - 1]
    return text[: len(text) - len(text.lstrip(" \t"))]


def _sort_key(name: str) -> tuple[int, str]:
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def _lines_for(wanted: Iterable[Import], indent: str = "") -> str:
    by_module: dict[str, list[str]] = defaultdict(list)
    for each in sorted(wanted):
        by_module[each.module].append(each.name)
    return "".join(
        f"{indent}from {module} import {', '.join(sorted(names, key=_sort_key))}\n"
        for module, names in sorted(by_module.items())
    )


def _new_lines(
    source: SourceText, top: Sequence[ast.stmt], wanted: Sequence[Import]
) -> Iterator[Edit]:
    """Add import lines in the block of the standard library, or of other packages."""
    for is_standard in (True, False):
        group = [each for each in wanted if _is_standard(each.module) == is_standard]
        same = [each for each in top if _module(each) != "__future__"]
        same = [each for each in same if _is_standard(_module(each)) == is_standard]
        if group and same:
            for module in sorted({each.module for each in group}):
                names = [each for each in group if each.module == module]
                yield _beside(source, same, module, _lines_for(names))
        elif group:
            yield _apart(source, top, _lines_for(group), is_standard=is_standard)


def _beside(source: SourceText, same: Sequence[ast.stmt], module: str, text: str) -> Edit:
    """Add a line to the imports of the same group, in their order."""
    among = same if _is_mixed(same) else [each for each in same if _is_from(each)]
    before = [each for each in among if _module(each).lower() < module.lower()]
    if before or not among:
        return _after(source, before[-1] if before else same[-1], text)
    return _at(source, among[0].lineno, text)


def _is_mixed(same: Sequence[ast.stmt]) -> bool:
    """Return True if imports are sorted by module, whether they are `from` imports or not."""
    modules = [_module(each).lower() for each in same]
    forms = [_is_from(each) for each in same]
    return modules == sorted(modules) and forms != sorted(forms)


def _apart(source: SourceText, top: Sequence[ast.stmt], text: str, *, is_standard: bool) -> Edit:
    """Add lines as the first ones of their group."""
    future = [each for each in top if _module(each) == "__future__"]
    others = [each for each in top if each not in future]
    if is_standard and others:
        return _at(source, others[0].lineno, f"{text}\n")
    if others or future:
        return _after(source, (others or future)[-1], f"\n{text}")
    return _after_docstring(source, text)


def _after_docstring(source: SourceText, text: str) -> Edit:
    body = source.tree.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return _after(source, body[0], f"\n{text}")
    first = body[0] if body else None
    decorators = getattr(first, "decorator_list", [])
    line = min(each.lineno for each in (first, *decorators)) if first is not None else 1
    return _at(source, line, f"{text}\n\n")


def _lazy_lines(
    source: SourceText, top: Sequence[ast.stmt], block: ast.If | None, wanted: Sequence[Import]
) -> Iterator[Edit]:
    if not wanted:
        return
    if block is not None:
        indent = _margin(source, block.body[0].lineno)
        yield _after(source, block.body[-1], _lines_for(wanted, indent))
        return
    text = f"\nif TYPE_CHECKING:\n{_lines_for(wanted, '    ')}"
    yield _after(source, top[-1], text) if top else _after_docstring(source, text)


def _after(source: SourceText, node: ast.stmt, text: str) -> Edit:
    assert node.end_lineno is not None
    return _at(source, node.end_lineno + 1, text)


def _at(source: SourceText, line: int, text: str) -> Edit:
    offset = source.start_of_line(line)
    newline = "" if offset == 0 or source.text[offset - 1] in "\r\n" else "\n"
    return Edit(offset, offset, newline + text)


def _module(node: ast.stmt) -> str:
    if isinstance(node, ast.ImportFrom):
        return "." * node.level + (node.module or "")
    return node.names[0].name if isinstance(node, ast.Import) else ""


def _is_from(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom)


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names
