"""NodeState: everything the Hub knows about one node."""

from typing import Any, Literal

import msgspec

from remora.code.file_facts import NodeType
from remora.code.links import Edge, Related, Tier
from remora.ids import NodeKey

UpdateSource = Literal["cold_start", "file_change", "dependency_change", "manual", "adhoc"]

__all__ = [
    "AnsweredNode",
    "Edge",
    "NodeState",
    "NodeType",
    "Related",
    "Tier",
    "UpdateSource",
    "node_schema",
]


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """A function, a class or a module. Facts that were not computed are null, empty lists `[]`."""

    key: NodeKey
    """`node:{path}:{qualname}`, or `node:{path}:__module__` for the module itself."""
    uid: str | None
    """Survives a rename or a move; null without a database."""
    file_path: str
    """As spelled in the key."""
    node_name: str
    node_type: NodeType
    source_hash: str
    """SHA-256 of the source lines from the first decorator on, without the final newline."""
    body_hash: str
    """SHA-256 of the body without the docstring."""
    file_hash: str
    """SHA-256 of the file's bytes."""
    signature: str | None
    """`def foo(x: int) -> str`; null for modules."""
    docstring: str | None
    """First line of the docstring."""
    docstring_outdated: bool
    """The docstring documents something that the code does not have; false without a docstring."""
    imports: tuple[str, ...] | None
    """Modules and names imported by a module (`os`, `typing.Optional`); else null."""
    decorators: tuple[str, ...]
    bases: tuple[str, ...]
    callers: tuple[Edge, ...] | None
    callees: tuple[Edge, ...] | None
    related_tests: tuple[Related, ...] | None
    line_start: int
    """Line of the first decorator or of the definition, starting at 1."""
    line_count: int
    complexity: int | None
    """Cyclomatic complexity as radon counts it; null for modules."""
    has_type_hints: bool
    """All parameters except self and cls, and the return, are annotated."""
    partial: bool
    """The file has a syntax error: these are the facts that could be recovered."""
    last_updated: str | None
    """RFC 3339; unchanged by an edit that did not change this node."""
    update_source: UpdateSource
    extra: dict[str, Any]
    """Results of user scripts by script name."""


class AnsweredNode(NodeState, frozen=True, kw_only=True):
    """A NodeState in an answer. If `fresh`, it includes every change made before the request."""

    fresh: bool


def node_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a NodeState as JSON."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | msgspec.json.schema(NodeState)
