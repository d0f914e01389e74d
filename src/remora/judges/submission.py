"""The submission, which is the input of all checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from remora.tools.tree import ToolTree

Findings = Callable[[str], list[dict[str, Any]]]
"""Returns the lint findings of the file at a path."""
Names = Callable[[str, bytes], list[dict[str, Any]]]
"""Returns the undefined and redefined names in a version, in UTF-8, of the file at a path."""
Files = Mapping[str, tuple[bytes | None, bytes | None]]
"""Maps the paths of files to their content before and after a change."""
Result = TypeVar("Result")


class Note(str):
    """Note of a passing check about a change set, for its reviewers."""

    __slots__ = ()


class RunInTree(Protocol):
    """Runs a function on the changed tree. The function may run project code.

    Raises HostError if running project code is not allowed.
    """

    def __call__(self, work: Callable[[ToolTree], Result], /) -> Result:
        """Call `work` with the tree and return its result."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """An agent's changes to one node, or to several nodes of a file."""

    path: str
    """The path of the node's file."""
    node_id: str
    """The key of the node."""
    node_name: str
    """The name of the node, as users read it."""
    qualname: str
    """The name of the node in its file."""
    nodes: tuple[str, ...] | None = None
    """The keys of several nodes, as in `Job`."""
    files: Files
    """The changed files. None is the content of a file that does not exist."""
    edits: Files = field(default_factory=dict)
    """The files that a model has changed since the opening."""
    findings_before: Findings
    """The findings without the changes."""
    findings_after: Findings
    """The findings with the changes."""
    names: Names
    """The undefined and redefined names."""
    target: Mapping[str, Any] = field(default_factory=dict)
    """The current location of the node, as scripts get it."""
    in_tree: RunInTree | None = None
    """Runs a function on the changed tree."""
    results: dict[Any, Any] = field(default_factory=dict)
    """Expensive results, for other checks."""


Check = Callable[[Submission], str]
"""Returns a one-line description of the problem, or an empty string or a `Note` if it passes."""
