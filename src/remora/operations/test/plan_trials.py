"""Trial calls at planning, so that only functions with a usable result get a job."""

import os
from collections import Counter
from collections.abc import Callable
from functools import cached_property

from remora.code.syntax.nodes import Node
from remora.errors import HostError
from remora.operations.test.host_probe import Cause, ProjectTexts, plan_missing
from remora.operations.test.host_write import LintRefusal, write_test
from remora.operations.test.runner.collection_check import collection_problem, require_collection
from remora.operations.test.runner.parent import require_pytest
from remora.tools.tree import ToolTree

NEEDS_VALUES = "whose calls need values that only a writer knows"
SHOWS_NOTHING = "whose tried calls show nothing that a test can assert"
DEPENDS = "whose results depend on state that other code can change"
NOT_IMPORTED = "of modules that cannot be imported"
NOT_COLLECTED = "whose test file pytest cannot collect"
NOT_WRITTEN = "whose test the test file refuses"
LINT_REFUSES = "whose test a lint rule refuses"
LIKE_OTHERS = "of modules in which no tried function has a usable call"
NOT_FINISHED = "whose trial calls did not finish"
NOT_TRIED = "not tried (name their files to try them)"
NEED_CALLS = frozenset({NEEDS_VALUES, SHOWS_NOTHING, LIKE_OTHERS, NOT_TRIED, LINT_REFUSES})
"""Reasons that calls which a model writes may change, without the example after some of them."""
_REASONS = {
    Cause.NOT_IMPORTED: NOT_IMPORTED,
    Cause.SHARED: DEPENDS,
    Cause.NEEDS_CALLS: NEEDS_VALUES,
    Cause.NEEDS_ROW: NEEDS_VALUES,
}
"""Reasons of a trial that found no test, by their cause. SHOWS_NOTHING is that of all others."""
_MOST_TRIED = 40
_MOST_OF_MODULE = 8
"""Numbers of functions that are tried. A trial takes about half a second on an idle machine."""
_ALL_CPU_S = 60.0
"""CPU seconds after which no other function is tried."""
_FUNCTION_S = 90.0
"""Limit of one trial, long enough for a busy machine."""


class UnwrittenTree(ToolTree):
    """A tree in which nothing is written."""

    def write(self, path: str, content: bytes) -> None:
        """Discard a change."""

    def create(self, path: str, content: bytes) -> None:
        """Discard a new file."""


class PlanTrials:
    """Tries functions and writes their tests like their job does, until one of each module has one.

    Nothing is recorded, so the job repeats the trial. What cannot be tried, since other functions
    have used up the trials, has no job. All functions count as possible if the project's code may
    not run, or if pytest does not, which the run reports.
    """

    def __init__(
        self, place: UnwrittenTree, texts: Callable[[], ProjectTexts], notify: Callable[[str], None]
    ) -> None:
        self._place = place
        self._texts = texts
        self._notify = notify
        self._tried = Counter[str]()
        self._cpu_s = 0.0
        self._open: set[str] = set()
        self._collected: dict[str, str] = {}
        self._with_examples: dict[str, str] = {}

    def reason(self, node: Node, home: str) -> str:
        """Return why no test can be proposed, or an empty string. `home` is the test file's path."""
        if node.path in self._open or not self._can_run:
            return ""
        if self._tried[node.path] >= _MOST_OF_MODULE:
            return LIKE_OTHERS
        if self._tried.total() >= _MOST_TRIED or self._cpu_s >= _ALL_CPU_S:
            return NOT_TRIED
        self._tried[node.path] += 1
        start = _cpu_seconds()
        try:
            with self._place.within(_FUNCTION_S):
                return self._trial(node, home)
        except HostError as error:
            return self._with_example(NOT_FINISHED, node, error)
        finally:
            self._cpu_s += _cpu_seconds() - start

    @cached_property
    def _can_run(self) -> bool:
        """True if the project's code and pytest run."""
        if self._place.python is None:
            return False
        self._notify(f"trying calls of untested functions (at most {_MOST_TRIED})")
        try:
            require_pytest(self._place.python)
        except HostError:
            return False
        return True

    def _trial(self, node: Node, home: str) -> str:
        texts = self._texts()
        if home in texts.tests:
            if home not in self._collected:
                self._collected[home] = collection_problem(self._place, home)
            if self._collected[home]:
                return self._uncollected()
        plan = plan_missing(self._place, node.path, node.qualname, texts)
        if plan["state"] == "open":
            try:
                write_test(self._place, node.path, node.qualname, plan["cases"])
            except HostError as error:
                reason = LINT_REFUSES if isinstance(error, LintRefusal) else NOT_WRITTEN
                return self._with_example(reason, node, error)
            self._open.add(node.path)
            return ""
        return _REASONS.get(plan["cause"], SHOWS_NOTHING)

    def _with_example(self, reason: str, node: Node, error: HostError) -> str:
        """Return the reason with its first error, so that its functions are grouped."""
        example = f"{reason} (for example {node.qualname}: {error.message})"
        return self._with_examples.setdefault(reason, example)

    def _uncollected(self) -> str:
        """Return a reason, or an empty string if pytest collects none of the project's tests."""
        try:
            require_collection(self._place)
        except HostError:
            self._can_run = False
            return ""
        return NOT_COLLECTED


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the processes that it has waited for."""
    return sum(os.times()[:4])
