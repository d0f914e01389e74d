"""Facts found in one file, without looking at other files."""

from typing import Literal

import msgspec

from remora.code.ir.model import LoweredFile
from remora.ids import NodeKey

FACTS_VERSION = 3
"""Increased when the same bytes give other facts, so that stored facts are computed again. A test
compares it with a digest of `read_facts` for small programs."""

NodeType = Literal["function", "class", "module"]


class NodeFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts of one node that its own file shows; the fields are those of `hub.node.NodeState`."""

    key: NodeKey
    qualname: str
    node_name: str
    node_type: NodeType
    signature: str | None
    docstring: str | None
    docstring_outdated: bool
    imports: tuple[str, ...] | None
    decorators: tuple[str, ...]
    bases: tuple[str, ...]
    source_hash: str
    body_hash: str
    line_start: int
    line_count: int
    complexity: int | None
    has_type_hints: bool


class FileFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Facts of one file; `path` is spelled as in node keys, `nodes` are in source order.

    `partial`: a syntax error, a decoding error or an internal error; `detail` is the reason in one
    line, else empty. `lowered` is the input of the call graph.
    """

    path: str
    file_hash: str
    partial: bool
    detail: str
    nodes: tuple[NodeFacts, ...]
    lowered: LoweredFile
