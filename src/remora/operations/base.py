"""Definition of an operation and of its parts, such as needs, checks and host functions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from remora.errors import ConfigError
from remora.text import did_you_mean

if TYPE_CHECKING:
    from remora.code.syntax.nodes import Module, Node
    from remora.config.schema import OperationConfig
    from remora.judges.judged_change import JudgeChange, ReportedFinding
    from remora.judges.submission import Check
    from remora.operations.restorer import Restorer
    from remora.sandbox.interpreters import ProjectPython
    from remora.tools.host_functions import HostFunction
    from remora.tools.tree import ToolTree
    from remora.workspaces.apply.merge_change_set import FilePatch

Amount = Callable[["Module", "Node"], int | str]
"""Returns how much work a node needs; 0 means none.

Returns a reason instead if the node needs work, but no proposal can be made, such as `NEEDS_WRITER`.
"""


class DescribedAmount(msgspec.Struct, frozen=True, kw_only=True):
    """An `Amount`, with what a plan says about it.

    If it counts lint findings, `left` returns the findings of a node that no job would fix, by reason, such as `NO_FIX`: each as
    a line such as `a.py:3 F401: another file imports the name from here`. `rules` describes the
    rules that were chosen for a project that does not select any. `unchecked` has the paths of
    files whose findings are not known, and why. `judges` describes the programs that must accept
    the proposals.
    """

    amount: Amount
    left: Callable[["Module", "Node"], Mapping[str, Sequence[str]]] = lambda _module, _node: {}
    rules: str = ""
    unchecked: Mapping[str, str] = {}
    judges: str = ""

    def __call__(self, module: "Module", node: "Node") -> int | str:
        return self.amount(module, node)


NEEDS_UNSAFE, NO_FIX, KEPT = "needs --unsafe-fixes", "has no fix", "is left as it is"
"""Reasons why a finding is left: `KEPT` ones are needed by other tools or tests."""
IN_PART = "is of a change that is decided in part"
NOT_KEPT, FIX_TAKEN_OUT = "has a fix that was not kept", "has a fix that was taken out"
"""Reasons why a finding with a fix is left: gates have taken out those of the second kind."""
NEEDS_WRITER = "needs a person or a model"
"""The reason for nodes on which only a model that can write could work."""
CONTRADICTS = "whose docstring contradicts the code, which only a person can correct"
"""The beginning of a reason that users see even if others are only counted."""
NEEDS_NAME = "without a docstring, which a small model writes if you name the function or its file"
Merge = Callable[[Path, "FilePatch", bytes], "FilePatch"]
"""Takes the project's root, a patch and the current content of its file.

Returns the patch to apply.
"""
_Named = Mapping[str, Any]
Codes = Mapping[str, int]
"""Number of findings, by code.

A linter's code is a single word. Other codes are `missing THING` or `outdated THING`.
"""


def is_lint_code(code: str) -> bool:
    """Return True for a linter's code, and False for codes such as `missing docstring`."""
    return " " not in code


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """A value of `needs` in `agent.yaml`.

    `prepare` receives the tree, the planned files and the agent's options, such as `unsafe_fixes`.
    The option `open` is True if a model can write texts, and `python` is the project's interpreter
    or None. `prepare` reads the files once, and returns a function that computes the amount of work
    for a node. If `counts_findings` is true, the amounts are numbers of lint findings, and plans
    show their sum.
    """

    prepare: Callable[["ToolTree", Sequence["Module"], Mapping[str, Any]], Amount]
    counts_findings: bool = False


class JobFindings(msgspec.Struct, frozen=True, kw_only=True):
    """The findings that a job's change set fixes and the findings that it leaves, counted by code.

    `is_counted` is False if the change set is not in the user's files and can no longer be applied.
    `measurements` contains other numbers reported by the operation's tools.
    """

    fixed: Codes
    left: Codes
    is_counted: bool
    measurements: Mapping[str, int] = {}

    @property
    def codes(self) -> frozenset[str]:
        """Codes of all findings that the node had before the job or has after it."""
        return frozenset((*self.fixed, *self.left))


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """A total in words, such as "`done` of `of` `what`", with optional details in `more`."""

    done: int
    of: int
    what: str
    more: str = ""

    @property
    def brief(self) -> str:
        """Return only the total, such as `41 of 44 findings fixed`."""
        return f"{self.done:,} of {self.of:,} {self.what}"

    @property
    def whole(self) -> str:
        """Return the total with details: `5 of 6 docstrings written: 4 added, 1 updated`."""
        return f"{self.brief}: {self.more}" if self.more else self.brief


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of several jobs. `measure` returns the numbers shown under `key` in JSON documents.

    `measure` receives the findings of the jobs and the number of findings in the plan. It returns
    None if no job did this kind of work.
    """

    key: str
    measure: Callable[[Sequence[JobFindings], int], dict[str, int] | None]
    phrase: Callable[[Mapping[str, int]], Phrase]
    measurement_text: Callable[[Mapping[str, int]], str] = lambda _measurements: ""
    """Returns a description of a job's `measurements`, which is shown after its fixes."""
    counts_findings: bool = False
    """True if the numbers are lint findings, with the keys `fixed` and `of`.

    Reports show their sum.
    """


Report = Callable[["ToolTree", Sequence["Module"], Mapping[str, Any]], Iterable["ReportedFinding"]]
"""Takes the tree, the selected files and the options, and returns the findings of an operation."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an operation that are needed only for planning, execution and verification.

    `report` returns findings without making proposals. Most operations do not have it.
    """

    needs: Mapping[str, Need] = {}
    report: Report | None = None
    checks: Mapping[str, "Check"] = {}
    host_functions: tuple["HostFunction", ...] = ()
    merge: Merge | None = None
    check_interpreter: "Callable[[ProjectPython], None] | None" = None
    """Raises HostError if the project's interpreter cannot run the checks and host functions."""
    check_project: "Callable[[ToolTree], None] | None" = None
    """Raises HostError if the checks and host functions cannot work on the project's files."""
    restorer: "Restorer | None" = None
    """Hides what people wrote and compares it with what the operation writes."""
    judge: "JudgeChange | None" = None
    """Judges a change."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of work: a folder with `agent.yaml` and scripts, and the code that they use.

    `analyze` without `-o` runs all operations for which `by_default` is true. `load` is called on
    first use, so that read-only commands do not import agent code. `settings` returns the schema of
    the operation's settings. Without it, the only setting is `max_turns`. `checks_run_code`
    contains the names of the checks that start the project's interpreter, `checks_try_code` of
    those that start it only if there is one that may be started, and `checks_read_packages` of
    those that read its packages without starting it.

    A job takes about `job_seconds`, and `unit_seconds` more for each unit of its need, on two idle
    cores with two jobs at a time. If `shared_seconds` is not 0, the first job of a run takes so much
    longer, and does the work on the units of all jobs. `unit` is what a dry run counts, such as
    `finding`.
    """

    name: str
    folder: Path
    by_default: bool = False
    load: Callable[[], Parts] = Parts
    totals: Totals | None = None
    settings: "Callable[[], type[OperationConfig]] | None" = None
    checks_run_code: frozenset[str] = frozenset()
    checks_try_code: frozenset[str] = frozenset()
    checks_read_packages: frozenset[str] = frozenset()
    job_seconds: float = 0.2
    unit_seconds: float = 0.0
    shared_seconds: float = 0.0
    unit: str = ""
    replaced: bool = False
    """True if an agent of the project does this work instead of the built-in one."""


class Operations:
    """All registered operations, with their needs, checks, host functions and settings by name.

    Raises ValueError if two operations define the same name.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.all = tuple(operations)
        _unique("operation", [operation.name for operation in self.all])

    def __or__(self, other: Operation) -> "Operations":
        return Operations((*self.all, other))

    def replacing(self, names: Collection[str]) -> "Operations":
        """Return the operations with those in `names` left to agents of the project.

        Their needs, checks and host functions stay, because any agent may use them. What counts,
        reports or evaluates the built-in agent's work does not. Raises ConfigError for a name that
        is unknown.
        """
        known = [operation.name for operation in self.all]
        if unknown := sorted({*names} - {*known}):
            near = did_you_mean(unknown[0], known)
            raise ConfigError(
                f"agents.replace: unknown operation {unknown[0]!r}{near}",
                hint=f"operations: {', '.join(known)}",
            )
        counted = {"totals": None, "unit": ""}
        return Operations(
            msgspec.structs.replace(
                operation, replaced=True, load=partial(_general_parts, operation.load), **counted
            )
            if operation.name in names
            else operation
            for operation in self.all
        )

    @property
    def replaced(self) -> frozenset[str]:
        """Names of the operations that an agent of the project does."""
        return frozenset(operation.name for operation in self.all if operation.replaced)

    @property
    def defaults(self) -> tuple[str, ...]:
        """Names of the operations that run by default."""
        return tuple(operation.name for operation in self.all if operation.by_default)

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(operation.folder for operation in self.all if not operation.replaced)

    @property
    def totals(self) -> tuple[Totals, ...]:
        return tuple(operation.totals for operation in self.all if operation.totals is not None)

    @property
    def checks_run_code(self) -> frozenset[str]:
        return frozenset[str]().union(*(operation.checks_run_code for operation in self.all))

    @property
    def checks_try_code(self) -> frozenset[str]:
        return frozenset[str]().union(*(operation.checks_try_code for operation in self.all))

    @property
    def checks_read_packages(self) -> frozenset[str]:
        return frozenset[str]().union(*(operation.checks_read_packages for operation in self.all))

    def measurement_text(self, measurements: Mapping[str, int]) -> str:
        """Return a description of the numbers that a job's tools reported, or an empty string."""
        return next(
            filter(None, (total.measurement_text(measurements) for total in self.totals)), ""
        )

    @cached_property
    def settings(self) -> "Mapping[str, type[OperationConfig]]":
        """Settings schemas, keyed by operation name."""
        from remora.config.schema import OperationConfig

        return {
            operation.name: operation.settings() if operation.settings else OperationConfig
            for operation in self.all
        }

    @cached_property
    def needs(self) -> Mapping[str, Need]:
        """Needs, keyed by their name in `agent.yaml`, including `always`."""
        always = Need(prepare=lambda _tree, _modules, _options: lambda _module, _node: 1)
        found = partial(self._groups, {}, lambda parts: parts.needs)
        return _ByName("need", lambda: chain(found(), [{"always": always}]))

    @cached_property
    def checks(self) -> Mapping[str, "Check"]:
        """Checks, keyed by their name in `agent.yaml`, including the general checks."""
        from remora.judges.checks import CHECKS

        return _ByName("check", partial(self._groups, CHECKS, lambda parts: parts.checks))

    @cached_property
    def host_functions(self) -> Mapping[str, "HostFunction"]:
        """Host functions, keyed by name, including the general host functions."""
        from remora.tools.host_functions import GENERIC

        def named(functions: Iterable["HostFunction"]) -> dict[str, Any]:
            return {function.name: function for function in functions}

        found = partial(self._groups, named(GENERIC), lambda own: named(own.host_functions))
        return _ByName("host function", found)

    @cached_property
    def merges(self) -> tuple[Merge, ...]:
        """Functions that merge a change set into files that have changed since."""
        return tuple(parts.merge for parts in self._parts.values() if parts.merge is not None)

    def check_project(self, place: "ToolTree", used: Collection[str]) -> None:
        """Check that the checks and host functions named in `used` can work on a project.

        Raises HostError if they cannot.
        """
        for parts in self._parts_used(used):
            if parts.check_project:
                parts.check_project(place)

    def check_interpreter(
        self, python: "ProjectPython", used: Collection[str] | None = None
    ) -> None:
        """Check that the interpreter can run the checks and host functions named in `used`.

        If `used` is None, all are checked. Raises HostError if the interpreter cannot run them.
        """
        for parts in self._parts.values() if used is None else self._parts_used(used):
            if parts.check_interpreter:
                parts.check_interpreter(python)

    def _parts_used(self, used: Collection[str]) -> Iterator[Parts]:
        """Yield the parts with a check or host function in `used` that needs what it may use."""
        for parts in self._parts.values():
            names = {*parts.checks, *(function.name for function in parts.host_functions)}
            if not (names - self.checks_try_code).isdisjoint(used):
                yield parts

    def report(self, name: str) -> Report | None:
        """Return the function that reports the findings of an operation, if it has one."""
        return self._loads[name]().report if name in self._loads else None

    @property
    def judges(self) -> "Mapping[str, JudgeChange]":
        """The functions that judge a change, by operation."""
        return {name: parts.judge for name, parts in self._parts.items() if parts.judge is not None}

    @property
    def restorers(self) -> "Mapping[str, Restorer]":
        """The restorers of the operations that have one, by operation."""
        return {name: parts.restorer for name, parts in self._parts.items() if parts.restorer}

    @cached_property
    def _loads(self) -> Mapping[str, Callable[[], Parts]]:
        return {operation.name: cache(operation.load) for operation in self.all}

    @property
    def _parts(self) -> Mapping[str, Parts]:
        return {name: load() for name, load in self._loads.items()}

    def _groups(self, general: _Named, defined_by: Callable[[Parts], _Named]) -> Iterator[_Named]:
        yield general
        yield from (defined_by(load()) for load in self._loads.values())


class _ByName(_Named):
    """What operations define, by name. An operation is loaded if none before it defines a name."""

    def __init__(self, kind: str, groups: Callable[[], Iterator[_Named]]) -> None:
        self._kind, self._groups = kind, groups

    def __getitem__(self, name: str) -> Any:
        return next((group for group in self._groups() if name in group), {})[name]

    def __iter__(self) -> Iterator[str]:
        _unique(self._kind, names := [name for group in self._groups() for name in group])
        return iter(names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _general_parts(load: Callable[[], Parts]) -> Parts:
    return msgspec.structs.replace(load(), report=None, restorer=None)


def _unique(kind: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the {kind} {twice[0]!r} is defined twice")
