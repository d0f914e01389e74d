"""Runs collected tests on the unchanged function, and then with each mutant in a forked process."""

from __future__ import annotations

import ast
import builtins
import dis
import os
import sys
from functools import lru_cache
from types import FunctionType
from typing import Any, Dict, Iterator, List, Set

from .code_swap import functions_at, is_imported, mutated_code, on_import, swap
from .fork import Order, in_child, monotonic, read, write

PROBE = "__remora_called__"
_BASELINE_S = 20.0
"""Most time of the tests on the unchanged function, in seconds."""
_LEAST_S = 1.0
_WAITING = 5
"""Ratio of the limit in real time, which counts for tests that wait, to the limit in CPU time."""
_EXPECTING = ("raises", "assertRaises", "assertRaisesRegex")
_CRASHES = (TypeError, AttributeError, NameError, LookupError, ArithmeticError)
_SHARE = 0.8
"""Share of the order's time after which no further mutants are tried."""


class MutantLoop:
    """Pytest plugin that replaces the test loop. `found` is the result of the order.

    Tests that enter the function run with mutants, the fastest first. If one of them does not pass
    twice, or if time is up before all tests ran, no mutant is known to survive. If an order has
    `enough`, no mutant is tried after some survive in so many of their `places`.
    """

    def __init__(self, asked: Order, name: str, order: Order) -> None:
        self.asked, self.name, self.order = asked, name, order
        self.until = monotonic() + _SHARE * order["seconds"]
        self.found: Order = {"reaching": [], "lines": [], "swapped": False, "tried": 0, "kills": []}
        self.subtest_failed = False
        self.how, self.text = "asserted", order["probe"]

    def pytest_runtestloop(self, session: Any) -> bool:
        path = self.order["path"]
        functions = functions_at(path, self.order["qualname"], *self.order["header"])
        if not functions:
            on_import([path], lambda _: replace(self.order, self.text))
        if session.testsfailed or not self.prepare(functions, self.order["probe"]):
            return True
        took = self.reaching(session.items)
        self.found["swapped"] = bool(functions or took)
        alive = sorted(took, key=lambda item: took[item])
        self.found["reaching"] = [item.nodeid for item in alive]
        limit = _LEAST_S + 3 * sum(took.values())
        if self.order.get("each"):
            self.kill_each(functions, alive, took)
            return True
        survived: Set[int] = set()
        for number, text in enumerate(self.order["mutants"] if alive else ()):
            if len(survived) == self.order.get("enough") or monotonic() > self.until:
                break
            self.found["tried"] = number + 1
            if self.prepare(functions, text) and self.all_pass(f"m{number}", alive, limit):
                self.found["lines"].append(number)
                survived.update(self.order.get("places", ())[number : number + 1])
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
        """Note how a test fails. An expression in its own file counts as an assertion.

        So does another error where the test expects one: a guard is gone, and code after it fails.
        """
        import pytest

        if call.excinfo is not None:
            is_assertion = issubclass(call.excinfo.type, (AssertionError, pytest.fail.Exception))
            path, entries = str(item.fspath), call.excinfo.traceback
            own = [entry.lineno + 1 for entry in entries if str(entry.path) == path]
            is_own = str(entries[-1].path) == path
            is_expected = any(line in lines for lines in expecting_lines(path) for line in own[-1:])
            if is_assertion or is_own or is_expected:
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
        """Give the function another code, now or when a test imports its module."""
        self.text = text
        code = mutated_code(text, self.order["path"], self.order["qualname"])
        is_later = not (functions or is_imported(self.order["path"]))
        return code is not None if is_later else swap(functions, code)

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
    what `MutantLoop` is given. `found` has the pairs of tests and numbers of functions, and those
    of tests and files that do not pass (-1 for all functions); and the numbers of functions that run before
    tests do, of those whose code cannot be replaced, and of those whose file is not imported.
    """

    def __init__(self, order: Order) -> None:
        import pytest

        self.order, self.probes = order, order["probes"]
        self.until = monotonic() + _SHARE * order["seconds"]
        self.found: Order = {"early": [], "fixed": [], "unknown": [], "complete": False}
        self.recorder = Recorder()
        self.placed: Set[int] = set()
        self.shared: Dict[Any, Set[int]] = {}
        self.entering: Dict[Any, None] = {}
        self.broken: Dict[Any, None] = {}

        @pytest.hookimpl(hookwrapper=True)
        def set_up(fixturedef: Any) -> Iterator[None]:
            """Note which functions a fixture enters, for all tests that share it."""
            before, self.recorder.numbers = self.recorder.numbers, set()
            yield
            self.shared[fixturedef] = self.recorder.numbers
            self.recorder.numbers = before | self.recorder.numbers

        self.pytest_fixture_setup = set_up
        self.called = on_import([probe.get("path") for probe in self.probes], self.place)

    def pytest_collectreport(self, report: Any) -> None:
        if not report.passed:
            self.broken[report.nodeid, -1] = None
        if report.failed:
            self.found["problem"] = f"{report.nodeid} cannot be collected"

    def note_process(self, event: str, args: Any) -> None:
        """Note that a process of the project's environment is started. This is an audit hook."""
        if event == "subprocess.Popen":
            folder, words = os.path.dirname(sys.executable), " ".join(map(str, args[1])).split()
            names = [os.path.basename(word) for word in words]
            if any(os.path.isfile(os.path.join(folder, name)) for name in names):
                self.found["problem"] = "tests start other processes, which may enter it"

    def place(self, path: str) -> None:
        """Replace the functions of an imported file with their probes."""
        for number, probe in enumerate(self.probes):
            if probe and probe["path"] == path and replace(probe, probe["probe"]):
                self.placed.add(number)

    def pytest_runtestloop(self, session: Any) -> bool:
        paths = {probe.get("path") for probe in self.probes}
        for path in paths - {self.probes[number]["path"] for number in self.placed}:
            self.place(path)
        early, items = self.recorder.numbers, self.own(session.items)
        sys.addaudithook(self.note_process)
        for item, following in zip(items, [*items[1:], None]):  # noqa: B905 - Python 3.8
            if monotonic() > self.until:
                break
            self.run(item, following)
        else:
            self.found["complete"] = True
        called = {(os.path.realpath(file), line, name) for file, line, name in self.called}
        for number, probe in enumerate(self.probes):
            path, name = probe.get("path"), probe.get("qualname", "").rpartition(".")[2]
            if number in early or any((path, at, name) in called for at in probe.get("header", ())):
                self.found["early"].append(number)
            elif number not in self.placed:
                self.found["fixed" if is_imported(path) else "unknown"].append(number)
        self.found.update(entering=list(self.entering), broken=list(self.broken))
        return True

    def run(self, item: Any, following: Any) -> None:
        from _pytest.runner import runtestprotocol

        self.recorder.numbers = set()
        reports = runtestprotocol(item, nextitem=following, log=False)
        definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        for name in getattr(item, "fixturenames", ()):
            for fixture in definitions.get(name, ()):
                self.recorder.numbers |= self.shared.get(fixture, set())
        name, numbers = item.nodeid.partition("[")[0], sorted(self.recorder.numbers)
        self.entering.update(dict.fromkeys((name, number) for number in numbers))
        if not all(report.passed or hasattr(report, "wasxfail") for report in reports):
            self.broken.update(dict.fromkeys((name, number) for number in [-1, *numbers]))

    def own(self, items: List[Any]) -> List[Any]:
        """Return the tests of the part, which has whole files."""
        part, parts = self.order["part"]
        files = list(dict.fromkeys(str(item.fspath) for item in items))
        wanted = {*self.order["ids"]}
        return [
            item
            for item in items
            if files.index(str(item.fspath)) % parts == part
            and (not wanted or item.nodeid.partition("[")[0] in wanted)
        ]


def replace(probe: Order, text: str) -> bool:
    """Replace a function with its probe or a mutant. Return False if that is not possible."""
    functions = functions_at(probe["path"], probe["qualname"], *probe["header"])
    return swap(functions, mutated_code(text, probe["path"], probe["qualname"]))


@lru_cache(maxsize=32)  # a test file fails once for each fault
def expecting_lines(path: str) -> List[range]:
    """Return the lines of each statement of a file in which an error is expected."""
    found = []
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            values = [item.context_expr for item in node.items]
        elif isinstance(node, ast.Expr):
            values = [node.value]
        else:
            continue
        names = [getattr(call, "func", None) for call in values]
        if any(getattr(name, "attr", getattr(name, "id", "")) in _EXPECTING for name in names):
            found.append(range(node.lineno, (node.end_lineno or 0) + 1))
    return found


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
