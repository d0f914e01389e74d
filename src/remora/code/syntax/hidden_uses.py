"""Names that a file uses, also those that linters miss: in strings, types and comments."""

import ast
import re
from collections.abc import Iterator

_WORD = re.compile(r"[^\W\d]\w*")
_TYPE_COMMENT = re.compile(r"#[ \t]*type:(?![ \t]*ignore)(.*)")
_TYPE_ALIAS = "TypeAlias"


def used_words(tree: ast.Module) -> set[str]:
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


def names_in(*nodes: ast.AST) -> set[str]:
    """Return the names in some nodes, without attributes."""
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def names_with(context: type[ast.expr_context], node: ast.AST) -> list[str]:
    """Return the names that code reads (`ast.Load`) or assigns (`ast.Store`), once for each use."""
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return [name.id for name in names if isinstance(name.ctx, context)]


def hidden_uses(text: str, tree: ast.Module) -> set[str]:
    """Return all words in types that are strings or comments.

    `name: "TypeAlias" = "list[Lexer]"` uses `Lexer`.
    """
    found = {word for value in _quoted_types(tree) for word in _WORD.findall(value)}
    for types in _TYPE_COMMENT.findall(text):
        found.update(_WORD.findall(types))
    return found


def _quoted_types(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        types = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.AnnAssign) and _TYPE_ALIAS in ast.unparse(node.annotation):
            types.append(node.value)
        for annotation in filter(None, types):
            yield from (
                part.value
                for part in ast.walk(annotation)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
