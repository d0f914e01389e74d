"""What one file says about its nodes: records, without any other file."""

from typing import Literal

import msgspec

from remora.code.ir.model import LoweredFile
from remora.ids import NodeKey

FACTS_VERSION = 3
"""Raised whenever the same bytes come to mean other facts: what is stored is then read anew. A test
holds it against a digest of what `read_facts` says of many small programs."""

NodeType = Literal["function", "class", "module"]


class NodeFacts(msgspec.Struct, frozen=True, gc=False):
    """A node as its own file shows it; the fields mean what they mean in `hub.node.NodeState`."""

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
    """Everything one file says. `path` is spelled as in keys; `nodes` are in source order, the
    module's own first. `partial`: the file has a syntax error, cannot be decoded or made us fail;
    `detail` says which, in one line, and is empty otherwise. `lowered` is what links are made from.
    """

    path: str
    file_hash: str
    partial: bool
    detail: str
    nodes: tuple[NodeFacts, ...]
    lowered: LoweredFile
