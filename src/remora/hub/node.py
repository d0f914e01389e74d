"""NodeState, which contains all facts that the Hub has about a node."""

from typing import Any, Literal

import msgspec

from remora.code.file_facts import NodeType
from remora.code.links import Edge, Related
from remora.ids import NodeKey
from remora.json_schema import DIALECT

UpdateSource = Literal["cold_start", "file_change", "dependency_change", "manual", "adhoc"]


class NodeState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A function, a class or a module.

    A fact is null if it was not computed. An empty list means that the fact was computed and
    nothing was found.
    """

    key: NodeKey
    """`node:{path}:{qualname}`, or `node:{path}:__module__` for a module."""
    file_path: str
    """Path of the file, as spelled in the key."""
    node_name: str
    node_type: NodeType
    source_hash: str
    """SHA-256 hash of the source lines, starting with the first decorator.

    The final newline is not included.
    """
    body_hash: str
    """SHA-256 hash of the body without the docstring."""
    file_hash: str
    """SHA-256 hash of the file's bytes."""
    signature: str | None
    """Signature such as `def foo(x: int) -> str`. Null for modules."""
    docstring: str | None
    """First line of the docstring."""
    docstring_outdated: bool
    """True if the docstring documents something that the code does not have.

    False if there is no docstring.
    """
    imports: tuple[str, ...] | None
    """Modules and names that a module imports, such as `os` and `typing.Optional`.

    Null for other nodes.
    """
    decorators: tuple[str, ...]
    bases: tuple[str, ...]
    callers: tuple[Edge, ...] | None
    references: tuple[Edge, ...] | None
    """Uses that are neither a call nor of another kind that `callers` has. Empty: there are none."""
    callees: tuple[Edge, ...] | None
    related_tests: tuple[Related, ...] | None
    line_start: int
    """Line of the first decorator, or of the definition if there is none. Lines start at 1."""
    line_count: int
    complexity: int | None
    """Cyclomatic complexity as computed by radon. Null for modules."""
    has_type_hints: bool
    """True if the return value and all parameters except self and cls are annotated."""
    partial: bool
    """True if the file has a syntax error, so that only some facts could be recovered."""
    last_updated: str | None
    """RFC 3339 time of the last change that affected this node."""
    update_source: UpdateSource
    tests_complete: bool = True
    """False if the search for tests took too long, so that `related_tests` has only the most
    certain ones. Left out if true."""
    incomplete: tuple[str, ...] = ()
    """Files that were not read completely, and may use this node. Left out if empty."""


class AnsweredNode(NodeState, frozen=True, kw_only=True):
    """A NodeState in an answer.

    If `fresh` is True, the state includes every change made before the request.
    """

    fresh: bool


def node_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of NodeState."""
    return DIALECT | msgspec.json.schema(NodeState)
