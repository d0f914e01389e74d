"""Host function that lists the definitions of a Python file."""

from typing import Any

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, Node
from remora.tools.file_tree import FileTree


def parse_python(place: FileTree, path: str) -> dict[str, Any]:
    """Parse a Python file and return its nodes.

    Each node has `key, qualname, node_type, signature, docstring, line_start, line_end`. If the
    file does not parse, `ok` is false, and `error` and `line` describe the problem.
    """
    module = parse_module(path, place.read(path))
    if not isinstance(module, Module):
        return {"ok": False, "error": module.detail, "line": module.line, "nodes": []}
    nodes = [_node(node) for node in module.nodes]
    return {"ok": True, "error": None, "line": None, "nodes": nodes}


def _node(node: Node) -> dict[str, Any]:
    return {
        "key": node.key,
        "qualname": node.qualname,
        "node_type": node.node_type,
        "signature": node.signature,
        "docstring": node.docstring,
        "line_start": node.line_start,
        "line_end": node.line_end,
    }
