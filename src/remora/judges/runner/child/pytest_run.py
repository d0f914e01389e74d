"""Runs pytest in this process and records the outcome of each test."""

from __future__ import annotations

import contextlib
import io
import os
import re
import unittest
from typing import Any, Iterator

from .code_swap import is_imported
from .fork import Order, error_line, write
from .mutant_loop import EntryLoop, MutantLoop
from .tracer import Effects, Lines, foreign_module_error

_TAIL = 4_000
INTERNAL = "INTERNALERROR> "
_NOT_RUN = (3, 4)
"""Exit codes of pytest after an internal error and wrong use, such as a conftest.py that raises."""
RAISED = re.compile(r"[\w.]*(Error|Exception|Warning)\b.*: ")


class Reports:
    """Pytest plugin that records outcomes and executed lines."""

    def __init__(self, asked: Order, order: Order, hookwrapper: Any) -> None:
        self.tests: dict[str, Any] = {}
        branching = bool(order.get("branching"))
        self.lines = Lines(order["path"], asked["root"], branching=branching)
        self.effects = Effects(asked["root"], asked["scratch"])
        self.seen: dict[str, Order] = {}
        self.failed: list[str] = []
        self.wanted = set(order["ids"] if order.get("all") else ())
        self.looks = not order.get("all") or order.get("traced")

        @hookwrapper  # type: ignore[untyped-decorator]
        def function_call(pyfuncitem: Any) -> Iterator[None]:
            with self.watched(pyfuncitem, not is_unittest(pyfuncitem)):
                yield

        @hookwrapper  # type: ignore[untyped-decorator]
        def test_call(item: Any) -> Iterator[None]:
            with self.watched(item, is_unittest(item)):
                yield

        # as near to the test as can be: unittest calls its own tests
        self.pytest_pyfunc_call = function_call
        self.pytest_runtest_call = test_call

    @contextlib.contextmanager
    def watched(self, item: Any, is_nearest: bool) -> Iterator[None]:
        """Trace a test if its lines and effects are wanted, and this is the nearest place to it."""
        if not (self.looks and is_nearest):
            yield
            return
        self.lines.entered, self.lines.calls, self.lines.branches = {}, {}, set()
        with self.effects, self.lines:
            yield
        self.seen[item.nodeid] = self.lines.results()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out the other tests of the files. A missing test is not an error."""
        if self.wanted:
            names = ((item.nodeid.partition("[")[0], item) for item in items)
            items[:] = [item for name, item in names if {name, item.nodeid} & self.wanted]

    def pytest_runtest_logreport(self, report: Any) -> None:
        known = self.tests.setdefault(report.nodeid, {"outcome": "passed", "message": ""})
        if report.outcome != "passed" and known["outcome"] == "passed":
            broken = report.outcome == "failed" and report.when != "call"
            known["outcome"] = "error" if broken else report.outcome
            known["message"] = worst(str(report.longrepr))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(worst(str(report.longrepr)))

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.failed.append(worst(str(excrepr)))


def is_unittest(item: Any) -> bool:
    return issubclass(getattr(item, "cls", None) or object, unittest.TestCase)


def worst(text: str) -> str:
    lines = text.replace(INTERNAL, "").splitlines()
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    if errors and errors[0].startswith("File "):  # where a file does not parse
        errors = [*filter(RAISED.match, errors)] or errors
    errors = errors or [line for line in lines if RAISED.match(line) or ": error: " in line]
    found = errors or [line.strip() for line in lines if line.strip()]
    return (found[0] if errors else found[-1] if found else "")[:200]


class Tail(io.TextIOBase):
    """A text stream that keeps only the end of what is written to it."""

    def __init__(self) -> None:
        self.text, self.buffer = "", io.BytesIO()  # which code may write to

    def write(self, text: str) -> int:
        self.text = (self.text + text)[-_TAIL:]
        return len(text)


def locations(asked: Order, order: Order) -> list[str]:
    """Return the tests to run as arguments that are valid in every working directory.

    If all of them run, whatever fails, these are files: an unknown test would be an error.
    """
    ids = order["ids"]
    if order.get("all"):
        ids = dict.fromkeys(test.partition("::")[0] for test in ids)
    return [os.path.join(asked["root"], test) for test in ids]


def options(asked: Order, order: Order) -> list[str]:
    """Return pytest's options. Folders such as `tmp_path` are created in the scratch folder."""
    temporary = "--basetemp=" + os.path.join(asked["scratch"], "pytest")
    return ["-q", "-s", "-p", "no:cacheprovider", "-o", "addopts=", temporary, *order["words"]]


def run_with(
    loop: MutantLoop | EntryLoop, asked: Order, name: str, order: Order, *more: str
) -> None:
    """Run pytest with another test loop, and write what it has found. Tests are collected once."""
    import pytest

    words, problem, said = [*options(asked, order), *more], "", Tail()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            if int(pytest.main([*words, *locations(asked, order)], plugins=[loop])) in _NOT_RUN:
                problem = f"pytest runs no test: {worst(said.text)}"
        except BaseException as error:
            problem = f"pytest does not start: {error_line(error)}"
    problem = problem or foreign_module_error(asked) or loop.found.get("problem", "")
    write(asked["out"], name, {**loop.found, "problem": problem})


def run_tests(asked: Order, name: str, order: Order) -> None:
    import pytest

    reports = Reports(asked, order, pytest.hookimpl(hookwrapper=True))
    rest = "--continue-on-collection-errors" if order.get("all") else "-x"
    words = [*options(asked, order), "--collect-only" if order.get("collect") else rest]
    stderr, problem = Tail(), ""
    with contextlib.redirect_stderr(stderr):
        try:
            code = int(pytest.main([*words, *locations(asked, order)], plugins=[reports]))
        except BaseException as error:
            code, problem = -1, f"pytest does not start: {error_line(error)}"
    found = {
        "code": code,
        "tests": reports.tests,
        "failed": reports.failed or ([worst(stderr.text)] if stderr.text else []),
        "lines": sorted(reports.lines.seen),
        "hashed": reports.lines.hashed,
        "seen": reports.seen,
        "effects": reports.effects.seen[:1],
        "imported": is_imported(order["path"]),
        "problem": problem or foreign_module_error(asked),
    }
    write(asked["out"], name, found)
