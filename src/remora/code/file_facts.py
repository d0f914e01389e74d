"""Facts about one file, derived without reading other files."""

from typing import Literal

import msgspec

from remora.code.ir.model import LoweredFile
from remora.ids import NodeKey

FACTS_VERSION = 19
"""Version of the facts. Increase it when the same bytes produce different facts; stored facts are
then recomputed. A test compares it with a digest of `read_facts` for small programs."""

PARTLY_READ = "partly read"
"""A name, which no code can have, that every `partial` file mentions."""
NodeType = Literal["function", "class", "module"]


class NodeFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts about one node, from its file. `hub.node.NodeState` describes most of the fields."""

    key: NodeKey
    qualname: str
    """Dotted name within the file, with `#2`, `#3` and so on if it is not the first of its name."""
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
    """Facts about one file."""

    path: str
    """Path relative to the root, escaped as in node keys."""
    file_hash: str
    """SHA-256 hash of the file's bytes."""
    partial: bool
    """True if the file has a syntax or decoding error, or if an internal error occurred."""
    detail: str
    """One-line reason if `partial` is True, and otherwise an empty string."""
    nodes: tuple[NodeFacts, ...]
    """The nodes in source order."""
    lowered: LoweredFile
    """Input to the call graph."""
