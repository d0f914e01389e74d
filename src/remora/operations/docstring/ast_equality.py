"""Comparison of a file's syntax tree and comments without the docstring of one node."""

import ast
import io
import tokenize
from functools import lru_cache
from hashlib import sha256

from remora.code.syntax.definitions import find_definitions
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.ids import MODULE, NodeKey, escape_path, node_key

TreeAndComments = tuple[str, tuple[str, ...]]


@lru_cache(maxsize=16)  # used when a docstring is written and when it is verified
def tree_without_docstring(path: str, content: bytes, key: str) -> TreeAndComments | None:
    """Return a hash of the tree, and the comments in order; None if there is no such node or tree."""
    source = read_source(path, content)
    if isinstance(source, Unreadable):
        return None
    spelled = escape_path(path)
    holder: ast.AST | None = None
    if key == node_key(spelled, MODULE):
        holder = source.tree
    else:
        found = find_definitions(source.tree, spelled)
        holder = next((each.node for each in found if each.key == NodeKey(key)), None)
    if holder is None:
        return None
    return _hash_without_docstring(source, holder), _comments(source)


def _hash_without_docstring(source: Source, holder: ast.AST) -> str:
    """Hash the tree without that docstring. Changes the tree."""
    body = holder.body  # type: ignore[attr-defined]
    if docstring_text(body) is not None:
        del body[0]
    return sha256(ast.dump(source.tree).encode("utf-8", "surrogatepass")).hexdigest()


def _comments(source: Source) -> tuple[str, ...]:
    text = io.StringIO(source.utf8.decode("utf-8", "surrogatepass"))
    return tuple(
        token.string
        for token in tokenize.generate_tokens(text.readline)
        if token.type == tokenize.COMMENT
    )
