"""Faults that no input tells apart from the code as it is."""

from collections.abc import Sequence
from typing import NamedTuple

from remora.operations.test.inputs.call_input import CallInput
from remora.operations.test.inputs.random_calls import random_calls
from remora.operations.test.mutants import Mutant
from remora.operations.test.runner.parent import run_in_child
from remora.operations.test.runner.trials import call_order
from remora.operations.test.target_function import TargetFunction
from remora.tools.tree import ToolTree

_INPUTS = 200
_LEAST = 50
"""Inputs that have to run the line of a fault before it counts as equivalent (decision)."""
_SECONDS = 20.0
_LATE = 3


class ToldApart(NamedTuple):
    """A fault, and the shortest call that tells it apart, or an empty string if none is known."""

    fault: Mutant
    call: str


def without_equivalent(
    place: ToolTree, subject: TargetFunction, known: Sequence[CallInput], faults: Sequence[Mutant]
) -> list[ToldApart]:
    """Return the faults without those that no input of 200 random ones tells apart.

    The inputs are like the known calls. A fault on a line that fewer than 50 of them run is kept,
    because it is not known. Raises HostError if running the project's code is not allowed.
    """
    calls = random_calls(subject, known, _INPUTS)
    if not calls or not faults:
        return [ToldApart(fault, "") for fault in faults]
    order = call_order(place, subject, calls, _SECONDS, _LATE)
    order["mutants"] = [fault.function for fault in faults]
    order["seconds"] = 2 * _SECONDS
    results = run_in_child(place, [subject.import_root], [order])
    ends = [results.of(0, number) or {} for number in range(len(calls))]
    lines = [end.get("lines") or () for end in ends if end.get("how") in ("value", "raised")]
    found = []
    for number, fault in enumerate(faults):
        telling = results.of_mutant(number)
        if telling != [] or sum(fault.line in own for own in lines) < _LEAST:
            shown = [calls[each].call for each in telling or () if not calls[each].setup]
            found.append(ToldApart(fault, min(shown, key=len, default="")))
    return found
