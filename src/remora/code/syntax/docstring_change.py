"""Whether a change of a file leaves all but its docstrings as it was."""

import ast

from remora.code.syntax.source import Source, read_source

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def only_docstrings_changed(before: bytes, after: bytes) -> bool:
    """Whether the syntax trees are equal but for docstrings; not where one of them does not parse."""
    one, other = _without_docstrings(before), _without_docstrings(after)
    return one is not None and one == other


def _without_docstrings(content: bytes) -> str | None:
    source = read_source("", content)
    if not isinstance(source, Source):
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            # a body that held nothing else is one that `pass` fills
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(source.tree)
