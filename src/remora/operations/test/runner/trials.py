"""What calls of a function come to, twice in different circumstances, and with faults planted in it."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.operations.test.cases.best_cases import Case, case_of
from remora.operations.test.cases.property_guesses import Property
from remora.operations.test.cases.test_source import source_of
from remora.operations.test.mutants import Mutant
from remora.operations.test.runner.parent import TWICE, Order, Results, carry_out
from remora.operations.test.target import Subject
from remora.tools.tree import Place

_EACH = 1.0
_OF_PROPERTY = 10.0
_TO_HOLD = 30.0
"""What holds must be found to hold on a busy machine too."""
_ALL = 25.0
_OF_MUTANT = 6.0
_PATIENCE = 3
_EXAMPLES = 300
"""For which a property must hold …"""
_FEWER = 60
"""… and with which a mutant is tried."""


class Tried(NamedTuple):
    """Calls that a test can be made of, and properties that hold."""

    cases: list[Case]
    held: list[Property]


def tried(
    place: Place, subject: Subject, calls: Sequence[str], groups: Sequence[Sequence[Property]]
) -> Tried:
    """Each call in both circumstances; of each group of properties the first that holds. Raises
    HostError where the module cannot be imported, or is imported from elsewhere."""
    plain = _order(place, subject, calls, _ALL, _PATIENCE)
    more = {**plain, "seconds": _ALL + _TO_HOLD * len(groups)}
    more.update(_properties(groups, _EXAMPLES, _TO_HOLD))
    paths = [subject.import_root]
    runs = [carry_out(place, paths, [more]), carry_out(place, paths, [plain], TWICE[1])]
    for results in runs:
        problem = (results.of(0) or {}).get("problem")
        if problem:
            raise HostError(str(problem).replace(f"{place.seen}/", "")[:300])
    seen = [[results.of(0, number) for results in runs] for number in range(len(calls))]
    return Tried(_cases(place, subject, calls, seen), _held(runs[0], groups))


def cases_of(place: Place, subject: Subject, calls: Sequence[str]) -> list[Case]:
    """Those of the calls that a test can be made of, in their order. Raises as `tried`."""
    return tried(place, subject, calls, []).cases


class Killed(NamedTuple):
    """The numbers of the mutants with which it comes to something else, by call; and with which it
    does not hold, for each property."""

    by_call: dict[str, frozenset[int]]
    by_property: list[frozenset[int]]


def killed_by(
    place: Place,
    subject: Subject,
    cases: Sequence[Case],
    held: Sequence[Property],
    faults: Sequence[Mutant],
) -> Killed:
    """All calls and all properties with each of the mutants."""
    seconds = _OF_MUTANT + _OF_PROPERTY * len(held)
    plain = _order(place, subject, [case.call for case in cases], seconds, 1)
    plain.update(_properties([[one] for one in held], _FEWER, _OF_PROPERTY))
    orders: list[Order] = [{**plain, "text": fault.text} for fault in faults]
    if not (cases or held) or not orders:
        return Killed({}, [frozenset() for _ in held])
    results = carry_out(place, [subject.import_root], orders)
    by_call = {
        case.call: frozenset(
            fault for fault in range(len(faults)) if _differs(case, results, fault, number)
        )
        for number, case in enumerate(cases)
    }
    by_property = [
        frozenset(
            fault
            for fault in range(len(faults))
            if results.of_property(fault, f"{number}-0") not in ("held", None)
        )
        for number in range(len(held))
    ]
    return Killed(by_call, by_property)


def _cases(
    place: Place,
    subject: Subject,
    calls: Sequence[str],
    seen: Sequence[Sequence[dict[str, Any] | None]],
) -> list[Case]:
    raising = _Raising(place)
    root = str(place.seen)
    found = zip(calls, seen, strict=True)
    cases = [case_of(call, told, raising.at, root) for call, told in found]
    own = range(subject.function.lineno, (subject.function.end_lineno or 0) + 1)
    return [
        msgspec.structs.replace(case, lines=tuple(n for n in case.lines if n in own))
        for case in cases
        if case is not None
    ]


def _held(results: Results, groups: Sequence[Sequence[Property]]) -> list[Property]:
    found: list[Property] = []
    for number, group in enumerate(groups):
        names = (f"{number}-{variant}" for variant in range(len(group)))
        each = zip(group, names, strict=True)
        found += [one for one, name in each if results.of_property(0, name) == "held"][:1]
    return found


def _properties(
    groups: Sequence[Sequence[Property]], examples: int, seconds: float
) -> dict[str, Any]:
    return {
        "properties": [[source_of(one) for one in group] for group in groups],
        "examples": examples,
        "each_property": seconds,
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
