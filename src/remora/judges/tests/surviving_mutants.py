"""Mutants of a function that its tests do not kill, and those that changed tests kill."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import msgspec

from remora.errors import HostError
from remora.judges.calls.target_function import TargetFunction, require_target
from remora.judges.faults.fault_kinds import FaultKind
from remora.judges.faults.mutants import Mutant, mutants
from remora.judges.runner.orders import fault_order
from remora.judges.runner.parent import Order, run_in_child
from remora.tools.tree import ToolTree

_DECIDING = (
    FaultKind.NEAREST_COMPARISON, FaultKind.OPPOSITE_COMPARISON, FaultKind.NUMBER_ABOVE,
    FaultKind.NUMBER_BELOW, FaultKind.CONDITION, FaultKind.AND_OR, FaultKind.NOT, FaultKind.CHOICE,
    FaultKind.OPTION,
)  # fmt: skip
"""Kinds of faults that a boundary may tell apart from the code, the closest first."""
_MAX_CANDIDATES = 400
"""Mutants of a function from which those for boundaries are chosen (decision)."""
_MAX_BOUNDARY_FAULTS = 40
"""The most mutants for tests that got further cases. Of the usual 20, only 4 are of comparisons."""


class Survivors(msgspec.Struct, frozen=True, kw_only=True):
    """The mutants that survive the tests of a function."""

    mutants: tuple[Mutant, ...]
    tried: int
    """The number of mutants for which there was time."""
    tests: tuple[str, ...]
    """The tests that reach the function."""


def surviving_mutants(
    place: ToolTree, subject: TargetFunction, ids: Sequence[str], faults: Sequence[Mutant]
) -> Survivors:
    """Run the tests `ids` that enter the function with each mutant. Without any, all survive.

    Raises HostError if pytest does not start or the function's code cannot be replaced.
    """
    order = mutant_order(place, subject, ids, faults)
    result = run_in_child(place, [subject.import_root], [order]).of(0)
    if problem := mutant_problem(result):
        raise HostError(problem)
    result = result or {}
    tests = tuple(result.get("reaching", ()))
    # `lines` has the numbers of mutants here
    alive = [faults[number] for number in result.get("lines", ()) if number < len(faults)]
    return Survivors(
        mutants=tuple(alive if tests else faults),
        tried=result.get("tried", 0),
        tests=tests,
    )


def mutant_order(
    place: ToolTree, subject: TargetFunction, ids: Sequence[str], faults: Sequence[Mutant]
) -> Order:
    """Return the order to run tests with each mutant of a function."""
    content, texts = place.read(subject.path), [fault.function for fault in faults]
    order = fault_order(place, subject.path, content, subject.qualname, ids, texts)
    assert order is not None  # the function was found
    return order


def mutant_problem(result: Mapping[str, Any] | None) -> str:
    """Return why tests could not be run with mutants, or an empty string."""
    if result is None:
        return "the tests did not finish in time"
    return str(result.get("problem") or "")


def boundary_faults(
    source: bytes, qualname: str, lines: Container[int] | None = None
) -> list[Mutant]:
    """Return at most 40 mutants of the comparisons, numbers and conditions of a function.

    With `lines`, these are on some of its lines.
    """

    def is_wanted(kind: FaultKind, line: int) -> bool:
        return kind in _DECIDING and (lines is None or line in lines)

    candidates = mutants(source, qualname, _MAX_CANDIDATES, is_wanted=is_wanted)
    chosen = [fault for kind in _DECIDING for fault in candidates if fault.kind == kind]
    return sorted(chosen[:_MAX_BOUNDARY_FAULTS], key=lambda fault: fault.line)


def further_faults(
    place: ToolTree, function: tuple[str, str], ids: Sequence[str], before: tuple[str, bytes]
) -> int:
    """Return how many mutants tests detect that they did not detect before they were changed.

    `function` is the path and qualname of a function, and `before` the path of the test file and its
    earlier content. Raises HostError like `surviving_mutants`.
    """
    subject = require_target(place, *function)
    path, earlier = before
    later = place.read(path)
    place.write(path, earlier)
    try:
        faults = boundary_faults(place.read(subject.path), subject.qualname)
        alive = surviving_mutants(place, subject, ids, faults).mutants
    finally:
        place.write(path, later)
    if not alive:
        return 0
    again = surviving_mutants(place, subject, ids, alive)
    return again.tried - len(again.mutants) if again.tests else 0
