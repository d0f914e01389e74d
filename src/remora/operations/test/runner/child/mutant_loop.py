"""Runs collected tests on the unchanged function, and then with each mutant in a forked process."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any, Dict, List

from .code_swap import functions_at, mutated_code, swap
from .described import describe
from .fork import Order, in_child, monotonic, write

_MOST_ARGUMENTS = 30
_LONGEST = 120
_BASELINE_S = 12.0
"""Time after which no further tests run on the unchanged function, in seconds."""
_LEAST_S = 2.0


class MutantLoop:
    """Pytest plugin that replaces the test loop. `found` is the result of the order.

    Only tests that enter the function and pass twice run with mutants.
    """

    def __init__(self, asked: Order, name: str, order: Order) -> None:
        self.asked, self.name, self.order = asked, name, order
        self.found: Order = {"reaching": [], "arguments": [], "lines": [], "swapped": False}

    def pytest_runtestloop(self, session: Any) -> bool:
        if session.testsfailed:
            return True
        functions = functions_at(self.order["path"], self.order["qualname"], *self.order["header"])
        recorder = Recorder([each.__code__ for each in functions])
        start = monotonic()
        reaching = [
            item
            for item in session.items
            if monotonic() - start < _BASELINE_S and recorder.reached(item)
        ]
        self.found["arguments"] = recorder.arguments
        limit = _LEAST_S + 2 * (monotonic() - start)
        alive = [item for item in reaching if self.passes("again", [item], limit)]
        self.found["reaching"] = [item.nodeid for item in alive]
        for number, text in enumerate(self.order["mutants"] if alive else ()):
            code = mutated_code(text, self.order["path"], self.order["qualname"])

            def prepare(code: CodeType | None = code) -> bool:
                return swap(functions, code)

            self.found["swapped"] = bool(functions)
            if self.passes(f"m{number}", alive, limit, prepare):
                self.found["lines"].append(number)
        return True

    def passes(self, name: str, items: List[Any], limit: float, prepare: Any = None) -> bool:
        """Return True if all tests pass in a forked process, within `limit` seconds."""
        place = f"{self.name}-{name}"
        path = os.path.join(self.asked["out"], place + ".json")
        if os.path.exists(path):
            os.remove(path)

        def work() -> None:
            if prepare is not None and not prepare():
                write(self.asked["out"], place, {"how": "passed"})
                return
            if all(passes(item) for item in items):
                write(self.asked["out"], place, {"how": "passed"})

        in_child(work, limit)
        return os.path.exists(path)


def passes(item: Any) -> bool:
    from _pytest.runner import runtestprotocol

    return all(report.passed for report in runtestprotocol(item, nextitem=None, log=False))


class Recorder:
    """Records which tests enter a function, and with which arguments."""

    def __init__(self, codes: List[CodeType]) -> None:
        self.codes = set(codes)
        self.entered = False
        self.arguments: List[Dict[str, str]] = []

    def reached(self, item: Any) -> bool:
        """Run a test. Return True if it passes and enters the function."""
        self.entered = False
        sys.setprofile(self.note)
        try:
            passed = passes(item)
        finally:
            sys.setprofile(None)
        return passed and self.entered

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code not in self.codes:
            return
        self.entered = True
        if len(self.arguments) < _MOST_ARGUMENTS:
            sys.setprofile(None)
            found = arguments_of(frame)
            if found is not None and found not in self.arguments:
                self.arguments.append(found)
            sys.setprofile(self.note)


def arguments_of(frame: FrameType) -> Dict[str, str] | None:
    """Return the source of each argument, or None if an argument has no short source."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found: Dict[str, str] = {}
    for name in names:
        described = describe(frame.f_locals.get(name))
        if described is None or described.imports or len(described.text) > _LONGEST:
            return None
        found[name] = described.text
    return found
