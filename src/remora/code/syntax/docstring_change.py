"""Detection of changes that affect only docstrings."""

import ast

from remora.code.syntax.source import Source, read_source

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def only_docstrings_changed(before: bytes, after: bytes) -> bool:
    """Return True if both sources parse and their syntax trees are the same except for
    docstrings.
    """
    old, new = _without_docstrings(before), _without_docstrings(after)
    return old is not None and old == new


def _without_docstrings(content: bytes) -> str | None:
    source = read_source("", content)
    if not isinstance(source, Source):
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            # a body of only a docstring equals a body of `pass`
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(source.tree)
