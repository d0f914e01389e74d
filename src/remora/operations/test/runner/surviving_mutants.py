"""Mutants of a function that its existing tests do not detect."""

from collections.abc import Sequence

import msgspec

from remora.errors import HostError
from remora.operations.test.mutants import Mutant, probe
from remora.operations.test.runner.mutation_check import test_order
from remora.operations.test.runner.parent import run_in_child
from remora.operations.test.runner.trials import header_of
from remora.operations.test.target_function import TargetFunction
from remora.tools.tree import ToolTree

_ALL_S = 60.0


class Survivors(msgspec.Struct, frozen=True, kw_only=True):
    """The mutants that survive, and the tests that reach the function.

    `tried` is the number of mutants for which there was time.
    """

    mutants: tuple[Mutant, ...]
    tried: int
    tests: tuple[str, ...]


def surviving_mutants(
    place: ToolTree, subject: TargetFunction, ids: Sequence[str], faults: Sequence[Mutant]
) -> Survivors:
    """Run the tests `ids` that enter the function with each mutant.

    Raises HostError if pytest does not start or the function's code cannot be replaced.
    """
    order = test_order(place, subject.path, ids, _ALL_S)
    order |= {"mutants": [fault.function for fault in faults], "qualname": subject.qualname}
    order["header"] = header_of(subject)
    order["probe"] = probe(place.read(subject.path), subject.qualname)
    results = run_in_child(place, [subject.import_root], [order])
    found = results.of(0)
    if found is None or found.get("problem"):
        raise HostError(str((found or {}).get("problem") or "the tests did not finish in time"))
    tests = tuple(found.get("reaching", ()))
    if tests and not found.get("swapped"):
        raise HostError("a decorator hides the function's code, so mutants cannot be tried")
    alive = [faults[number] for number in found.get("lines", ()) if number < len(faults)]
    return Survivors(
        mutants=tuple(alive),
        tried=found.get("tried", 0),
        tests=tests,
    )
