"""Names that linters miss: those in types that are strings or comments."""

import ast
import re
from collections.abc import Iterator

_WORD = re.compile(r"[^\W\d]\w*")
_TYPE_COMMENT = re.compile(r"#[ \t]*type:(?![ \t]*ignore)(.*)")
_TYPE_ALIAS = "TypeAlias"


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
