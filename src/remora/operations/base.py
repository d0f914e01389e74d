"""What an operation is: its agent, which nodes need it, host functions, checks and totals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from remora.code.syntax.nodes import Module, Node
    from remora.config.schema import OperationConfig
    from remora.operations.submission import Check
    from remora.tools.host_functions import HostFunction
    from remora.workspaces.apply.transaction import FilePatch

Amount = Callable[["Module", "Node"], int]
"""Returns how much work a node needs; 0 is none."""
Merge = Callable[[Path, "FilePatch"], "FilePatch"]
"""Takes the project's root and a patch whose file may have changed; returns the patch to apply."""
Codes = Mapping[str, int]
"""How often each finding occurs, by code. A linter's codes have no space."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """One value of `needs` in `agent.yaml`.

    `prepare` looks at the planned files of a tree once and returns the amount for each node.
    With `counts_findings` the amounts are lint findings, and plans show their sum.
    """

    prepare: Callable[[Path, Sequence["Module"]], Amount]
    counts_findings: bool = False


class JobFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Findings that a job's change set fixes and leaves, by code.

    `counts` is False if the change set is not, and will not be, in the user's files. `worth` holds
    other numbers that the operation's tools reported.
    """

    fixed: Codes
    left: Codes
    counts: bool
    worth: Codes = {}

    @property
    def codes(self) -> frozenset[str]:
        """Every code that the node had or has."""
        return frozenset((*self.fixed, *self.left))


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """A total in words: `done` of `of` `what`, then `more`."""

    done: int
    of: int
    what: str
    more: str = ""

    @property
    def brief(self) -> str:
        """`41 of 44 findings fixed`."""
        return f"{self.done:,} of {self.of:,} {self.what}"

    @property
    def whole(self) -> str:
        """`5 of 6 docstrings written: 4 added, 1 updated`."""
        return f"{self.brief}: {self.more}" if self.more else self.brief


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over jobs: `measure` returns the numbers under `key` in JSON documents.

    It returns None if no job knows of such work. The plan counted `planned` findings.
    """

    key: str
    measure: Callable[[Sequence[JobFindings], int], dict[str, int] | None]
    phrase: Callable[[Mapping[str, int]], Phrase]
    worth_text: Callable[[Codes], str] = lambda _worth: ""
    """Returns a description of a job's `worth`, to follow `test added, `."""
    counts_findings: bool = False
    """The numbers are `fixed` lint findings `of` all that were met; reports show their sum."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an operation that only planning, execution and verification need."""

    needs: Mapping[str, Need] = {}
    checks: Mapping[str, "Check"] = {}
    host_functions: tuple["HostFunction", ...] = ()
    merge: Merge | None = None
    unmerge: Merge | None = None
    """Reconciles a reversed change set, for `revert`."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of work: a folder with `agent.yaml` and scripts, and what they rely on.

    `analyze` runs `by_default` operations if none is named. `load` is called on first use, so that
    commands that only read import no agent code. `settings` returns the model of the operation's
    settings if it has others than `max_turns`. `checks_run_code` names checks that start the
    project's interpreter.
    """

    name: str
    folder: Path
    by_default: bool = False
    load: Callable[[], Parts] = Parts
    totals: Totals | None = None
    settings: "Callable[[], type[OperationConfig]] | None" = None
    checks_run_code: frozenset[str] = frozenset()


class Operations:
    """All operations of a process, and the names they share.

    Raises ValueError if two operations give one name to different things.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.all = tuple(operations)
        _unique("operation", [each.name for each in self.all])

    def __or__(self, other: Operation) -> "Operations":
        return Operations((*self.all, other))

    @property
    def defaults(self) -> tuple[str, ...]:
        """Names of the operations that run if none is named."""
        return tuple(each.name for each in self.all if each.by_default)

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(each.folder for each in self.all)

    @property
    def totals(self) -> tuple[Totals, ...]:
        return tuple(each.totals for each in self.all if each.totals is not None)

    @property
    def checks_run_code(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.checks_run_code for each in self.all))

    def worth_text(self, worth: Codes) -> str:
        """Return a description of the numbers that a job's tools reported; may be empty."""
        return next(filter(None, (each.worth_text(worth) for each in self.totals)), "")

    @cached_property
    def settings(self) -> "Mapping[str, type[OperationConfig]]":
        """Models of operations' settings by the operation's name."""
        from remora.config.schema import OperationConfig

        return {
            each.name: each.settings() if each.settings else OperationConfig for each in self.all
        }

    @cached_property
    def needs(self) -> Mapping[str, Need]:
        """Needs by their names in `agent.yaml`, including `always`."""
        always = Need(prepare=lambda _tree, _modules: lambda _module, _node: 1)
        return _merged("need", [*(parts.needs for parts in self._parts), {"always": always}])

    @cached_property
    def checks(self) -> Mapping[str, "Check"]:
        """Checks by their names in `agent.yaml`, including those of no operation."""
        from remora.operations.checks import CHECKS

        return _merged("check", [CHECKS, *(parts.checks for parts in self._parts)])

    @cached_property
    def host_functions(self) -> Mapping[str, "HostFunction"]:
        """Host functions by name, sorted, including those of no operation."""
        from remora.tools.host_functions import GENERIC

        given = [{each.name: each for each in parts.host_functions} for parts in self._parts]
        merged = _merged("host function", [{each.name: each for each in GENERIC}, *given])
        return dict(sorted(merged.items()))

    @cached_property
    def merges(self) -> tuple[Merge, ...]:
        """Functions that reconcile a change set with files that others changed."""
        return tuple(parts.merge for parts in self._parts if parts.merge is not None)

    @cached_property
    def unmerges(self) -> tuple[Merge, ...]:
        """What reconciles a reversed change set with files that others changed."""
        return tuple(parts.unmerge for parts in self._parts if parts.unmerge is not None)

    @cached_property
    def _parts(self) -> tuple[Parts, ...]:
        return tuple(each.load() for each in self.all)


def plural(word: str, number: int) -> str:
    """Return the word, with an `s` unless `number` is 1."""
    return word if number == 1 else f"{word}s"


def _merged(kind: str, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    _unique(kind, [name for each in given for name in each])
    return {name: value for each in given for name, value in each.items()}


def _unique(kind: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the {kind} {twice[0]!r} is defined twice")
