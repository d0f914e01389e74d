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
    """An agent's changes to one node, or to several nodes of a file.

    `path`, `node_id`, `node_name` and `qualname` identify the node. `nodes` has the same meaning as
    in `Job`. `files` maps the path of each changed file to its content before and after the change,
    where None means that the file does not exist. `edits` maps the files that a model has changed
    since the opening in the same way. `target` is the current location of the node, in the form
    passed to scripts. `results` caches expensive results so that other checks can
    use them.
    """

    path: str
    node_id: str
    node_name: str
    qualname: str
    nodes: tuple[str, ...] | None = None
    files: Files
    edits: Files = field(default_factory=dict)
    findings_before: Findings
    findings_after: Findings
    names: Names
    target: Mapping[str, Any] = field(default_factory=dict)
    in_tree: RunInTree | None = None
    results: dict[Any, Any] = field(default_factory=dict)


Check = Callable[[Submission], str]
"""Returns a one-line description of the problem, or an empty string or a `Note` if it passes."""
