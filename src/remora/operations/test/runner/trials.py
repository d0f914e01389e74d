"""Trial calls of a function in different circumstances and with mutants."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.operations.test.cases.best_cases import Case, case_of
from remora.operations.test.cases.property_guesses import Property
from remora.operations.test.cases.test_source import property_source
from remora.operations.test.mutants import Mutant
from remora.operations.test.runner.parent import CIRCUMSTANCES, Order, Results, run_in_child
from remora.operations.test.target_function import TargetFunction
from remora.tools.tree import ToolTree

_CALL_S = 1.0
_MUTANT_PROPERTY_S = 10.0
_PROPERTY_S = 30.0
"""Long enough for a busy machine."""
_ALL_CALLS_S = 25.0
_MUTANT_CALLS_S = 6.0
_MAX_LATE_CALLS = 3
_EXAMPLES = 300
"""Number of Hypothesis examples for which a property must hold."""
_MUTANT_EXAMPLES = 60
"""Number of Hypothesis examples per mutant."""


class TrialResults(NamedTuple):
    """The cases that can be used in a test, and the properties that hold."""

    cases: list[Case]
    properties: list[Property]


def try_calls(
    place: ToolTree,
    subject: TargetFunction,
    calls: Sequence[str],
    groups: Sequence[Sequence[Property]],
) -> TrialResults:
    """Try each call twice in different circumstances. Find each group's first property that holds.

    Raises HostError if the module cannot be imported, or is imported from a different location.
    """
    plain = _order(place, subject, calls, _ALL_CALLS_S, _MAX_LATE_CALLS)
    more = {**plain, "seconds": _ALL_CALLS_S + _PROPERTY_S * len(groups)}
    more.update(_properties(groups, _EXAMPLES, _PROPERTY_S))
    paths = [subject.import_root]
    runs = [
        run_in_child(place, paths, [more]),
        run_in_child(place, paths, [plain], CIRCUMSTANCES[1]),
    ]
    for results in runs:
        problem = (results.of(0) or {}).get("problem")
        if problem:
            raise HostError(str(problem).replace(f"{place.seen}/", "")[:300])
    seen = [[results.of(0, number) for results in runs] for number in range(len(calls))]
    return TrialResults(_cases(place, subject, calls, seen), _held_properties(runs[0], groups))


def cases_of(place: ToolTree, subject: TargetFunction, calls: Sequence[str]) -> list[Case]:
    """Return the cases for the calls whose results can be asserted, in the order of the calls.

    Raises whatever `try_calls` raises.
    """
    return try_calls(place, subject, calls, []).cases


class KilledMutants(NamedTuple):
    """The indexes of the killed mutants, for each call and for each property."""

    by_call: dict[str, frozenset[int]]
    by_property: list[frozenset[int]]


def killed_by(
    place: ToolTree,
    subject: TargetFunction,
    cases: Sequence[Case],
    held: Sequence[Property],
    faults: Sequence[Mutant],
) -> KilledMutants:
    """Try all cases and properties with each mutant, and return which mutants they kill."""
    seconds = _MUTANT_CALLS_S + _MUTANT_PROPERTY_S * len(held)
    plain = _order(place, subject, [case.call for case in cases], seconds, 1)
    plain.update(_properties([[one] for one in held], _MUTANT_EXAMPLES, _MUTANT_PROPERTY_S))
    orders: list[Order] = [{**plain, "text": fault.text} for fault in faults]
    if not (cases or held) or not orders:
        return KilledMutants({}, [frozenset() for _ in held])
    results = run_in_child(place, [subject.import_root], orders)
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
    return KilledMutants(by_call, by_property)


def _cases(
    place: ToolTree,
    subject: TargetFunction,
    calls: Sequence[str],
    seen: Sequence[Sequence[dict[str, Any] | None]],
) -> list[Case]:
    raising = _RaiseLines(place)
    root = str(place.seen)
    found = zip(calls, seen, strict=True)
    cases = [case_of(call, results, raising.at, root) for call, results in found]
    own = range(subject.function.lineno, (subject.function.end_lineno or 0) + 1)
    return [
        msgspec.structs.replace(case, lines=tuple(n for n in case.lines if n in own))
        for case in cases
        if case is not None
    ]


def _held_properties(results: Results, groups: Sequence[Sequence[Property]]) -> list[Property]:
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
        "properties": [[property_source(one) for one in group] for group in groups],
        "examples": examples,
        "each_property": seconds,
    }


def _differs(case: Case, results: Results, fault: int, number: int) -> bool:
    result = results.of(fault, number)
    if result is None:
        return False  # the call did not run
    made = case_of(case.call, [result], lambda *_: True, "\0")
    return made is None or (made.value, made.raises) != (case.value, case.raises)


def _order(
    place: ToolTree, subject: TargetFunction, calls: Sequence[str], seconds: float, patience: int
) -> Order:
    return {
        "module": subject.module,
        "path": str(place.seen / subject.path),
        "calls": list(calls),
        "each": _CALL_S,
        "seconds": seconds,
        "patience": patience,
    }


class _RaiseLines:
    """Finds the lines of `raise` statements in the files of the tree."""

    def __init__(self, place: ToolTree) -> None:
        self._place = place
        self._root = place.seen
        self._lines: dict[str, frozenset[int]] = {}

    def at(self, path: str, line: int) -> bool:
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
