"""A submission: the input of all checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from remora.tools.tree import ToolTree

Findings = Callable[[str], list[dict[str, Any]]]
"""Returns the lint findings of one file (by path) of a tree."""
Result = TypeVar("Result")


class RunInTree(Protocol):
    """Runs work on the changed tree, where project code may be started.

    Raises HostError if it may not.
    """

    def __call__(self, work: Callable[[ToolTree], Result], /) -> Result:
        """Return what `work` returns."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """An agent's changes to one node.

    `path`, `node_id`, `node_name` and `qualname` identify the node. `files` holds the changed files
    before and after (None: no such file). `target` is the node's current location, as scripts get it.
    Checks add to `observed` what project code executed; it is recorded. `results` shares costly results
    between the checks of one submission.
    """

    path: str
    node_id: str
    node_name: str
    qualname: str
    files: Mapping[str, tuple[bytes | None, bytes | None]]
    findings_before: Findings
    findings_after: Findings
    target: Mapping[str, Any] = field(default_factory=dict)
    in_tree: RunInTree | None = None
    observed: dict[str, Any] = field(default_factory=dict)
    results: dict[Any, Any] = field(default_factory=dict)


Check = Callable[[Submission], str]
"""Returns the problem in one line, or an empty text."""
