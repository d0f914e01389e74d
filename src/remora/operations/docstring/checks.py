"""Checks that a change set writes one docstring and nothing else."""

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, find_node
from remora.operations.docstring.ast_equality import tree_without_docstring
from remora.operations.submission import Submission


def docstrings_only(submission: Submission) -> str:
    """Syntax trees and comments are the same, except for the docstring of this node."""
    key = submission.node_id
    for path, (before, after) in submission.files.items():
        if path != submission.path or before is None or after is None:
            return f"{path}: not the file of {key}"
        kept = tree_without_docstring(path, before, key)
        if kept is None or kept != tree_without_docstring(path, after, key):
            return f"{path}: more than the docstring of {submission.node_name} changed"
    return ""


def documented(submission: Submission) -> str:
    """The node has a docstring that is not outdated."""
    _, after = submission.files.get(submission.path, (None, None))
    module = parse_module(submission.path, after) if after is not None else None
    node = find_node(module, submission.node_id) if isinstance(module, Module) else None
    if node is None or node.docstring is None:
        return f"{submission.node_name} has no docstring"
    return "its docstring is outdated" if node.docstring_outdated else ""
