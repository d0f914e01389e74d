"""Removal of imports that a file needed only for what an edit removed."""

import ast
import re
from collections.abc import Collection, Iterator

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.import_edits import is_type_checking
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.hidden_uses import hidden_uses
from remora.code.syntax.source import parse_text

_Import = ast.Import | ast.ImportFrom
_WORD = re.compile(r"[^\W\d]\w*")


def import_names(text: str) -> set[tuple[str, str]]:
    """Return the names that a file imports from modules, with the last part of the module's name."""
    return {
        ((node.module or "").rpartition(".")[2], alias.name)
        for node in ast.walk(ParsedText(text).tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def without_needless_imports(
    path: str, before: str, after: str, imported: Collection[tuple[str, str]]
) -> str:
    """Return a file's new text without the imports that the old text used and that it does not use.

    Names in `imported`, which other files import from this one, are kept, and so are imports in
    `__init__.py`, which others may use, and statements with comments. So is everything if the new
    text does not parse. A `TYPE_CHECKING` block with only such imports, and without
    comments, is removed.
    """
    stem = path.rpartition("/")[2].removesuffix(".py")
    if stem == "__init__" or isinstance(parse_text(after), str):
        return after
    source = ParsedText(after)
    needless = _used_names(ParsedText(before).tree) - _used_names(source.tree)
    needless -= hidden_uses(after, source.tree)
    needless -= {name for module, name in imported if module == stem}
    text = apply_edits(after, _edits(source, needless))
    return text if text == after else without_needless_imports(path, before, text, imported)


def _used_names(tree: ast.Module) -> set[str]:
    """Return the names that a file refers to, and all words in its strings except docstrings."""
    found: set[str] = set()
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name):
                found.add(name)
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                found.update(_WORD.findall(text))
    return found


def _edits(source: ParsedText, needless: Collection[str]) -> Iterator[Edit]:
    blocks = _type_checking_blocks(source)
    for body in _bodies(source.tree):
        dropped = {
            id(node): kept
            for node in body
            if isinstance(node, _Import) and _is_alone(source, node, body)
            for kept in [[each for each in node.names if _bound(each) not in needless]]
            if len(kept) < len(node.names)
        }
        is_emptied = all(dropped.get(id(node)) == [] for node in body)
        if is_emptied and id(body) in blocks:
            yield _without_lines(source, blocks[id(body)])
            continue
        for node in body:
            if id(node) in dropped:
                is_last = is_emptied and node is body[-1] and body is not source.tree.body
                yield _edit(source, node, dropped[id(node)], "pass" if is_last else "")


def _type_checking_blocks(source: ParsedText) -> dict[int, ast.If]:
    """Return the `TYPE_CHECKING` blocks without comments, by the ids of their bodies.

    The line after a block may be a comment that belongs to it.
    """
    return {
        id(node.body): node
        for node in source.tree.body
        if isinstance(node, ast.If)
        and is_type_checking(node.test)
        and not node.orelse
        and not any("#" in line for line in source.lines[node.lineno - 1 : _last(node) + 1])
    }


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements in a file."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


def _bound(alias: ast.alias) -> str:
    """Return the name that an import binds. One with `import x as x` is kept for other files."""
    if alias.asname is not None:
        return "" if alias.asname == alias.name else alias.asname
    return alias.name.partition(".")[0]


def _is_alone(source: ParsedText, node: _Import, body: list[ast.stmt]) -> bool:
    """Return True if a statement has its lines for itself, without comments."""
    last = _last(node)
    lines = source.lines[node.lineno - 1 : last]
    shared = any(
        other is not node and other.lineno <= last and node.lineno <= (other.end_lineno or 0)
        for other in body
    )
    before = lines[0].encode()[: node.col_offset].strip()
    return not (shared or before or any("#" in line for line in lines))


def _edit(source: ParsedText, node: ast.stmt, kept: list[ast.alias], other: str) -> Edit:
    """Return the edit that leaves an import with the names in `kept`, or with `other` instead."""
    if kept:
        assert isinstance(node, _Import)
        fields = {**dict(ast.iter_fields(node)), "names": kept}
        text = ast.unparse(type(node)(**fields))
        return Edit(source.start(node), source.end(node), text)
    if other:
        return Edit(source.start(node), source.end(node), other)
    return _without_lines(source, node)


def _without_lines(source: ParsedText, node: ast.stmt) -> Edit:
    return Edit(source.start_of_line(node.lineno), source.start_of_line(_last(node) + 1), "")


def _last(node: ast.stmt) -> int:
    """Return the last line of a statement."""
    return node.end_lineno or node.lineno
