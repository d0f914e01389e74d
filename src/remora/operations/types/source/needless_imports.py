"""Removal of imports that a file needed only for what an edit removed."""

import ast
from collections.abc import Collection, Iterator

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.definitions import ImportNode
from remora.code.syntax.hidden_uses import hidden_uses, used_words
from remora.code.syntax.source import parse_text


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
    text does not parse. In a block, `pass` takes the place of an import.
    """
    stem = path.rpartition("/")[2].removesuffix(".py")
    if stem == "__init__" or isinstance(parse_text(after), str):
        return after
    source = ParsedText(after)
    needless = used_words(ParsedText(before).tree) - used_words(source.tree)
    needless -= hidden_uses(after, source.tree)
    needless -= {name for module, name in imported if module == stem}
    return apply_edits(after, _edits(source, needless))


def _edits(source: ParsedText, needless: Collection[str]) -> Iterator[Edit]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ImportNode):
            continue
        last = node.end_lineno or node.lineno
        kept = [each for each in node.names if _bound(each) not in needless]
        shared = any(mark in line for line in source.lines[node.lineno - 1 : last] for mark in "#;")
        if shared or len(kept) == len(node.names):
            continue
        if kept:
            text = ast.unparse(type(node)(**{**dict(ast.iter_fields(node)), "names": kept}))
            yield Edit(source.start(node), source.end(node), text)
        elif node.col_offset:
            yield Edit(source.start(node), source.end(node), "pass")
        else:
            yield Edit(source.start_of_line(node.lineno), source.start_of_line(last + 1), "")


def _bound(alias: ast.alias) -> str:
    """Return the name that an import binds. One with `import x as x` is kept for other files."""
    if alias.asname is not None:
        return "" if alias.asname == alias.name else alias.asname
    return alias.name.partition(".")[0]
