"""Checks that a change set writes one docstring and changes nothing else."""

import ast
import io
import tokenize
from functools import lru_cache
from hashlib import sha256

from remora.code.syntax.definitions import find_definitions
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.ids import MODULE, NodeKey, escape_path, node_key
from remora.operations.submission import Submission


def docstrings_only(submission: Submission) -> str:
    """Check that the syntax tree and comments are unchanged, except for the node's docstring."""
    key = submission.node_id
    for path, (before, after) in submission.files.items():
        if path != submission.path or before is None or after is None:
            return f"{path}: not the file of {key}"
        kept = tree_without_docstring(path, before, key)
        if kept is None or kept != tree_without_docstring(path, after, key):
            return f"{path}: more than the docstring of {submission.node_name} changed"
    return ""


TreeAndComments = tuple[str, tuple[str, ...]]


@lru_cache(maxsize=16)  # used when a docstring is written and when it is verified
def tree_without_docstring(path: str, content: bytes, key: str) -> TreeAndComments | None:
    """Return a hash of the syntax tree without the node's docstring, and all comments in order.

    Return None if the file does not parse or does not contain the node.
    """
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
    """Remove the docstring of `holder` from the tree, and return a hash of the tree."""
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
