"""A change to judge, and the judgement of an operation."""

import ast
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, Node
from remora.code.syntax.source import Source, read_source
from remora.tools.tree import ToolTree
from remora.workspaces.apply.line_diff import new_lines


class ReportedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of an operation, without a run. `node_id` is the node that it is about."""

    path: str
    line: int
    node_id: str
    code: str
    message: str


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A file before and after a change. One of the two contents is None if the file is new or gone."""

    path: str
    before: bytes | None
    after: bytes | None

    @cached_property
    def lines(self) -> frozenset[int]:
        """The numbers of the lines of the new content that are new or different."""
        return new_lines(self.before or b"", self.after or b"")

    @cached_property
    def module(self) -> Module | None:
        """The parsed new content of a Python file, or None if it cannot be parsed."""
        return _parsed(self.path, self.after)

    @cached_property
    def earlier(self) -> Module | None:
        """The parsed old content."""
        return _parsed(self.path, self.before)

    @cached_property
    def trees(self) -> tuple[ast.Module, ast.Module] | None:
        """The syntax trees of both contents, or None if one cannot be parsed."""
        sides = [read_source(self.path, content or b"") for content in (self.before, self.after)]
        match sides:
            case [Source(tree=before), Source(tree=after)] if self.path.endswith(".py"):
                return before, after
        return None

    @cached_property
    def changed_functions(self) -> tuple[Node, ...]:
        """The functions that the file did not have before, line for line, outermost first."""
        nodes = self.module.nodes if self.module is not None else ()
        known = {node.source_hash for node in (self.earlier.nodes if self.earlier else ())}
        return tuple(
            node for node in nodes if node.node_type == "function" and node.source_hash not in known
        )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change to a project."""

    before: ToolTree
    """The project before the change."""
    after: ToolTree
    """The project after it. Without `python`, no code of the project may be run."""
    files: Mapping[str, ChangedFile]
    """The files that differ, by path."""
    environ: Mapping[str, str] = {}
    """The user's variables."""
    seconds: float = 50.0
    """The time after which nothing more is tried."""
    reaching: Sequence[str] = ()
    """The pytest IDs of the tests that it reaches, nearest first, if all tests take too long."""

    def left(self, begun: float) -> float:
        """Return how many seconds are left: at least a third of those that slow tests took."""
        passed = time.monotonic() - begun
        return max(self.seconds - passed, passed / 3)


LATE = "no time is left"


class Unjudged(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a change that could not be judged, and why."""

    what: str
    why: str


class Late(Unjudged, frozen=True, kw_only=True):
    """What there was no time for."""

    why: str = LATE


class Unreached(Late, frozen=True, kw_only=True):
    """The tests that do not run because all take too long, and the `reaching` ones that do."""

    what: str = "tests that the change is not seen to reach"
    reaching: Sequence[str]


class Untested(Unjudged, frozen=True, kw_only=True):
    """What needs tests, none of which could be run, or none of which was seen to reach it."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Findings of an operation against a change, and parts that it could not judge.

    `missed` has the changed lines of each function whose tests miss a fault, by node key: agents of
    the operation can add what is missing. `ran` is true if tests were run.
    """

    findings: tuple[ReportedFinding, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    missed: Mapping[str, tuple[int, ...]] = {}
    ran: bool = False


JudgeChange = Callable[[Change, Callable[[str], None]], Iterator[Judged]]
"""Takes a change and a function that is told what is done now. Yields what is against the change:
what its files show if `after` has no `python`, and otherwise what only running shows."""


def _parsed(path: str, content: bytes | None) -> Module | None:
    if content is None or not path.endswith(".py"):
        return None
    found = parse_module(path, content)
    return found if isinstance(found, Module) else None
