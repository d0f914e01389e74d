"""Runs of tests of a change, all to the end, with their outcomes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from remora.judges.judged_change import LATE
from remora.judges.runner.orders import test_order
from remora.judges.runner.parent import Circumstances, run_in_child
from remora.tools.host.module_names import import_roots
from remora.tools.tree import ToolTree

_SECONDS = 120.0
_WORST = ("error", "failed", "passed", "skipped")
"""Outcomes, the worst first: a test with parameters has the worst outcome of its rows."""


class Outcomes(NamedTuple):
    """Results of tests."""

    tests: Mapping[str, Mapping[str, Any]]
    """The results by pytest ID, with parameters."""
    problems: Mapping[str, str]
    """The reasons why pytest did not finish, by file."""
    seen: Mapping[str, Any] = {}
    """The data of the `TracedTest` of each test that was traced."""
    lines: Mapping[str, frozenset[int]] = {}
    """The executed lines of each test file, if tests were traced."""

    @property
    def passed(self) -> set[str]:
        return {name for name, test in self.tests.items() if test["outcome"] == "passed"}

    @property
    def failures(self) -> dict[str, str]:
        """The last line of what each failing test raised."""
        return {
            name: test.get("message", "")
            for name, test in self.tests.items()
            if test["outcome"] in ("failed", "error")
        }

    @property
    def problem(self) -> str:
        """The first reason why pytest did not finish, or an empty string."""
        return next(filter(None, self.problems.values()), "")

    def of(self, test: str) -> str:
        """Return the outcome of a test, or an empty string if it did not run."""
        known = {self.tests[name].get("outcome") for name in self._rows(test)}
        return next((outcome for outcome in _WORST if outcome in known), "")

    def message(self, test: str) -> str:
        """Return the last line of what a test raised, or an empty string."""
        messages = (self.tests[name].get("message") for name in self._rows(test))
        return next(filter(None, messages), "")

    def _rows(self, test: str) -> list[str]:
        return [name for name in self.tests if test in (name, name.partition("[")[0])]


def run_tests(
    place: ToolTree,
    ids: Sequence[str],
    under: Circumstances,
    *,
    traced: bool = False,
    branching: bool = False,
) -> Outcomes:
    """Run tests once, those of each file apart. Raises HostError if no code may be run.

    If they are `traced`, the result has the executed lines of the test files, or with `branching`
    the executed branches of all files instead.
    """
    how = {"all": True, "traced": traced, "branching": branching}
    files = {test.partition("::")[0]: None for test in ids}
    orders = []
    for path in files:
        own = [test for test in ids if test.partition("::")[0] == path]
        orders.append({**test_order(place, path, own, _SECONDS), **how})
    results = run_in_child(place, import_roots(place.files), orders, under)
    tests, problems, seen = dict[str, Any](), dict[str, str](), dict[str, Any]()
    lines = dict[str, frozenset[int]]()
    for number, path in enumerate(files):
        found = results.of(number)
        if found is None:
            slow = f"the tests take longer than {orders[number]['seconds']:.0f} seconds"
            problems[path] = slow if results.is_late(number) else LATE
            continue
        problem = found.get("problem") or next(iter(found.get("failed") or ()), "")
        problems[path] = str(problem)
        tests |= found.get("tests") or {}
        seen |= found.get("seen") or {}
        lines[path] = frozenset(found.get("lines") or ())
    return Outcomes(tests, problems, seen, lines)
