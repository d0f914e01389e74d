"""Runs collected tests on the unchanged function, and then with each mutant in a forked process."""

from __future__ import annotations

import builtins
import dis
import os
import sys
from types import FunctionType
from typing import Any, Dict, List, Set, Tuple

from .code_swap import functions_at, mutated_code, swap
from .fork import Order, in_child, monotonic, read, write

PROBE = "__remora_called__"
_BASELINE_S = 20.0
"""Most time of the tests on the unchanged function, in seconds."""
_LEAST_S = 1.0
_WAITING = 5
"""Ratio of the limit in real time, which counts for tests that wait, to the limit in CPU time."""
_CRASHES = (TypeError, AttributeError, NameError, LookupError, ArithmeticError)
_SHARE = 0.8
"""Share of the order's time after which no further mutants are tried."""


class MutantLoop:
    """Pytest plugin that replaces the test loop. `found` is the result of the order.

    Tests that enter the function run with mutants, the fastest first. If one of them does not pass
    twice, or if time is up before all tests ran, no mutant is known to survive. If an order has
    `enough`, no mutant is tried after so many that survive.
    """

    def __init__(self, asked: Order, name: str, order: Order) -> None:
        self.asked, self.name, self.order = asked, name, order
        self.until = monotonic() + _SHARE * order["seconds"]
        self.found: Order = {"reaching": [], "lines": [], "swapped": False, "tried": 0, "kills": []}
        self.subtest_failed = False
        self.how = "asserted"

    def pytest_runtestloop(self, session: Any) -> bool:
        functions = functions_at(self.order["path"], self.order["qualname"], *self.order["header"])
        if session.testsfailed or not self.prepare(functions, self.order["probe"]):
            return True
        self.found["swapped"] = True
        took = self.reaching(session.items)
        alive = sorted(took, key=lambda item: took[item])
        self.found["reaching"] = [item.nodeid for item in alive]
        limit = _LEAST_S + 3 * sum(took.values())
        if self.order.get("each"):
            self.kill_each(functions, alive, took)
            return True
        for number, text in enumerate(self.order["mutants"] if alive else ()):
            is_enough = len(self.found["lines"]) == self.order.get("enough")
            if is_enough or monotonic() > self.until:
                break
            self.found["tried"] = number + 1
            if self.prepare(functions, text) and self.all_pass(f"m{number}", alive, limit):
                self.found["lines"].append(number)
        return True

    def kill_each(self, functions: List[FunctionType], items: List[Any], took: Order) -> None:
        """Find faults for which each test fails, until one of its assertions has failed.

        If the order is `whole`, all faults are tried with all tests. A kill is the test, the number
        of the fault, and how it failed: `asserted`, `raised` by a statement of the code, `crashed`, or
        `untried`.
        """
        waiting = list(items)
        for number, text in enumerate(self.order["mutants"]):
            if not waiting or monotonic() > self.until:
                break
            self.found["tried"] = number + 1
            if not self.prepare(functions, text):
                continue
            limit = _LEAST_S + 3 * sum(took[item] for item in waiting)
            kills = self.failures(f"m{number}", waiting, limit)
            self.found["kills"] += [(waiting[at].nodeid, number, how) for at, how in kills]
            is_whole = self.order.get("whole")
            asserted = {at for at, how in kills if how == "asserted" and not is_whole}
            waiting = [item for at, item in enumerate(waiting) if at not in asserted]

    def failures(self, name: str, items: List[Any], limit: float) -> List[Any]:
        """Return the places of the tests that fail, and how.

        A test that does not end fails, and those after it are `untried`.
        """
        failed = []
        place = f"{self.name}-{name}"

        def work() -> None:
            for at, item in enumerate(items):
                if not self.passes(item):
                    failed.append((at, self.how))
                write(self.asked["out"], place, {"how": "ran", "failed": failed, "tried": at + 1})

        in_child(work, limit * _WAITING, limit)
        found = read(self.asked["out"], place)
        tried = found.get("tried", 0)
        late = [(at, "untried" if at > tried else "raised") for at in range(tried, len(items))]
        return [*found.get("failed", ()), *late]

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Note how a test fails. An expression in its own file counts as an assertion."""
        import pytest

        if call.excinfo is not None:
            is_assertion = issubclass(call.excinfo.type, (AssertionError, pytest.fail.Exception))
            if is_assertion or str(call.excinfo.traceback[-1].path) == str(item.fspath):
                self.how = "asserted"
            else:
                self.how = "crashed" if is_crash(call.excinfo.value) else "raised"

    def reaching(self, items: List[Any]) -> Dict[Any, float]:
        """Return the seconds of each test that enters the function, or nothing after a problem.

        Every run begins in a new process, so a test that changes its own rows passes again.
        """
        recorder, begun, place = Recorder(), monotonic(), self.name + "-first"

        def work() -> None:
            took = []
            for at, item in enumerate(items):
                start = monotonic()
                recorder.numbers = set()
                if self.passes(item) and recorder.numbers:
                    took.append((at, monotonic() - start))
            write(self.asked["out"], place, {"took": took})

        if not in_child(work, _BASELINE_S):
            self.found["problem"] = "its tests take too long to run them with each fault"
            return {}
        first = read(self.asked["out"], place).get("took")
        if first is None:
            self.found["problem"] = "its tests end their process"
            return {}
        took = {items[at]: seconds for at, seconds in first}
        alive = sorted(took, key=lambda item: took[item])
        if not self.all_pass("again", alive, _LEAST_S + 2 * (monotonic() - begun)):
            self.found["problem"] = "a test passes once, but not when it is repeated"
            return {}
        return took

    def prepare(self, functions: List[FunctionType], text: str) -> bool:
        return swap(functions, mutated_code(text, self.order["path"], self.order["qualname"]))

    def all_pass(self, name: str, items: List[Any], limit: float) -> bool:
        """Return True if all tests pass in a forked process, within `limit` seconds of CPU time."""
        place = f"{self.name}-{name}"
        path = os.path.join(self.asked["out"], place + ".json")
        if os.path.exists(path):
            os.remove(path)

        def work() -> None:
            if all(self.passes(item) for item in items):
                write(self.asked["out"], place, {"how": "passed"})

        in_child(work, limit * _WAITING, limit)
        return os.path.exists(path)

    def passes(self, item: Any) -> bool:
        from _pytest.runner import runtestprotocol

        self.subtest_failed, self.how = False, "asserted"
        reports = runtestprotocol(item, nextitem=None, log=False)
        return all(report.passed for report in reports) and not self.subtest_failed

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a subtest that fails: without `log`, only subtests are reported here."""
        self.subtest_failed = self.subtest_failed or report.failed


class EntryLoop:
    """Pytest plugin that runs tests once, and notes which of some functions each of them enters.

    An order has a `part` of the test files, as number and count, and in `probes` for each function
    what `MutantLoop` is given. `found` has the pairs of tests and numbers of functions, and the
    numbers of those whose code cannot be replaced, and of those whose file is not imported.
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.until = monotonic() + _SHARE * order["seconds"]
        self.found: Order = {"entering": [], "fixed": [], "unknown": [], "complete": False}

    def pytest_runtestloop(self, session: Any) -> bool:
        from _pytest.runner import runtestprotocol

        probes = self.order["probes"]
        fixed = [number for number, probe in enumerate(probes) if not (probe and replace(probe))]
        recorder, items = Recorder(), self.own(session.items)
        entering: Dict[Tuple[str, int], None] = {}
        for item, following in zip(items, [*items[1:], None]):  # noqa: B905 - Python 3.8
            if monotonic() > self.until:
                self.found["entering"] = list(entering)
                return True
            recorder.numbers = set()
            runtestprotocol(item, nextitem=following, log=False)
            name = item.nodeid.partition("[")[0]
            entering.update(dict.fromkeys((name, number) for number in sorted(recorder.numbers)))
        self.found["entering"] = list(entering)
        if session.testsfailed:
            self.found["problem"] = "a test file cannot be collected"
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        known = {os.path.realpath(file) for file in files if isinstance(file, str)}
        self.found["fixed"] = [n for n in fixed if probes[n].get("path") in known]
        self.found["unknown"] = [n for n in fixed if probes[n].get("path") not in known]
        self.found["complete"] = True
        return True

    def own(self, items: List[Any]) -> List[Any]:
        """Return the tests of the part, which has whole files."""
        part, parts = self.order["part"]
        files = list(dict.fromkeys(str(item.fspath) for item in items))
        return [item for item in items if files.index(str(item.fspath)) % parts == part]


def replace(probe: Order) -> bool:
    """Replace a function with its probe. Return False if that is not possible."""
    functions = functions_at(probe["path"], probe["qualname"], *probe["header"])
    return swap(functions, mutated_code(probe["probe"], probe["path"], probe["qualname"]))


def is_crash(error: BaseException) -> bool:
    """Return True for an error of code that was handed what it cannot work with.

    No `raise` statement says it, so it is not what the code promises about its input.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not isinstance(error, _CRASHES):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] != dis.opmap["RAISE_VARARGS"]


class Recorder:
    """Records that a test calls functions, by the numbers that their probes give."""

    def __init__(self) -> None:
        self.numbers: Set[int] = set()
        setattr(builtins, PROBE, self.note)

    def note(self, number: int) -> None:
        self.numbers.add(number)
