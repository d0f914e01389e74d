"""Python source to nodes: text in, records out, nothing of it is run."""

from remora.code.docstring_change import only_docstrings_changed
from remora.code.extract import parse_module
from remora.code.match import match_nodes, nearest
from remora.code.nodes import Module, Node, find_node, node_summary, own_lines, owner
from remora.code.references import Reference, references
from remora.code.source import Unreadable, parses

__all__ = [
    "Module",
    "Node",
    "Reference",
    "Unreadable",
    "find_node",
    "match_nodes",
    "nearest",
    "node_summary",
    "only_docstrings_changed",
    "own_lines",
    "owner",
    "parse_module",
    "parses",
    "references",
]
