"""Facts about one file, derived without reading other files."""

from typing import Literal

import msgspec

from remora.code.ir.model import LoweredFile
from remora.ids import NodeKey

FACTS_VERSION = 3
"""Version of the facts. Increase it when the same bytes produce different facts; stored facts are
then recomputed. A test compares it with a digest of `read_facts` for small programs."""

NodeType = Literal["function", "class", "module"]


class NodeFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts about one node, from its file. `hub.node.NodeState` describes the fields."""

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
    """Facts about one file.

    `path` is escaped as in node keys. `nodes` are in source order. `partial` is True if the file
    has a syntax or decoding error, or if an internal error occurred. In that case, `detail` is a
    one-line reason. `lowered` is the input to the call graph.
    """

    path: str
    file_hash: str
    partial: bool
    detail: str
    nodes: tuple[NodeFacts, ...]
    lowered: LoweredFile
