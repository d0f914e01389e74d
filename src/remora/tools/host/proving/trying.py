"""What calls of a function come to, twice in different circumstances, and with faults planted in it."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from remora.code.mutants import Mutant
from remora.code.source import Unreadable, read_source
from remora.code.testing import Case, Subject, case_of
from remora.errors import HostError
from remora.tools.host.place import Place
from remora.tools.host.proving.outside import TWICE, Order, Results, carry_out

_EACH = 1.0
_ALL = 25.0
_OF_MUTANT = 6.0
_PATIENCE = 3


def seen_twice(
    place: Place, subject: Subject, calls: Sequence[str]
) -> list[list[dict[str, Any] | None]]:
    """For each call what it came to in each of the circumstances. Raises HostError where the module
    cannot be imported, or is imported from elsewhere."""
    order = _order(place, subject, calls, _ALL, _PATIENCE)
    runs = [carry_out(place, [subject.import_root], [order], under) for under in TWICE]
    for results in runs:
        problem = (results.of(0) or {}).get("problem")
        if problem:
            raise HostError(str(problem).replace(f"{place.seen}/", "")[:300])
    return [[results.of(0, number) for results in runs] for number in range(len(calls))]


def cases_of(place: Place, subject: Subject, calls: Sequence[str]) -> list[Case]:
    """Those of the calls that a test can be made of, in their order."""
    raising = _Raising(place)
    root = str(place.seen)
    found = zip(calls, seen_twice(place, subject, calls), strict=True)
    cases = [case_of(call, seen, raising.at, root) for call, seen in found]
    return [case for case in cases if case is not None]


def killed_by(
    place: Place, subject: Subject, cases: Sequence[Case], faults: Sequence[Mutant]
) -> dict[str, frozenset[int]]:
    """By call, the numbers of the mutants with which it comes to something else."""
    calls = [case.call for case in cases]
    orders: list[Order] = [
        {**_order(place, subject, calls, _OF_MUTANT, 1), "text": fault.text} for fault in faults
    ]
    if not cases or not orders:
        return {}
    results = carry_out(place, [subject.import_root], orders)
    return {
        case.call: frozenset(
            fault for fault in range(len(faults)) if _differs(case, results, fault, number)
        )
        for number, case in enumerate(cases)
    }


def _differs(case: Case, results: Results, fault: int, number: int) -> bool:
    told = results.of(fault, number)
    if told is None:
        return False  # it was not reached
    made = case_of(case.call, [told], lambda *_: True, "\0")
    return made is None or (made.value, made.raises) != (case.value, case.raises)


def _order(
    place: Place, subject: Subject, calls: Sequence[str], seconds: float, patience: int
) -> Order:
    return {
        "module": subject.module,
        "path": str(place.seen / subject.path),
        "calls": list(calls),
        "each": _EACH,
        "seconds": seconds,
        "patience": patience,
    }


class _Raising:
    """Where files of the tree raise exceptions on purpose."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._root = place.seen
        self._lines: dict[str, frozenset[int]] = {}

    def at(self, path: str, line: int) -> bool:
        """Whether a `raise` stands in that line."""
        if path not in self._lines:
            self._lines[path] = self._find(Path(path))
        return line in self._lines[path]

    def _find(self, path: Path) -> frozenset[int]:
        if not path.is_relative_to(self._root):
            return frozenset()
        try:
            read = read_source("", self._place.read(path.relative_to(self._root).as_posix()))
        except HostError:
            return frozenset()
        if isinstance(read, Unreadable):
            return frozenset()
        return frozenset(
            number
            for one in ast.walk(read.tree)
            if isinstance(one, ast.Raise)
            for number in range(one.lineno, (one.end_lineno or one.lineno) + 1)
        )
