"""Faults that no input tells apart from the code as it is."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from remora.code.edit.text_lines import split_lines
from remora.judges.calls.case import CallInput
from remora.judges.calls.random_calls import random_calls
from remora.judges.calls.target_function import TargetFunction
from remora.judges.calls.trials import call_order
from remora.judges.faults.mutants import Mutant
from remora.judges.runner.parent import run_in_child
from remora.tools.tree import ToolTree

_INPUTS = 200
_ASKS_FOR_TYPE = re.compile(r"\b(?:isinstance|issubclass|hasattr|callable|type)\(")
_LEAST = 50
"""Inputs that have to run the line of a fault before it counts as equivalent (decision)."""
_SECONDS = 20.0
"""Time for the calls, and again for the calls with faults."""
_LATE = 3
"""Calls that take too long before the others are left out."""


class DistinguishedFault(NamedTuple):
    """A fault that is not equivalent, and the shortest call with another result, if one is known."""

    fault: Mutant
    call: str


def without_equivalent(
    place: ToolTree, subject: TargetFunction, known: Sequence[CallInput], faults: Sequence[Mutant]
) -> list[DistinguishedFault]:
    """Return the faults without those that no input of at most 200 random ones tells apart.

    The inputs are like the known calls. A fault is kept if fewer than 50 of them run its line and
    have a result that can be compared, or if its line asks for a type, because the inputs have the
    types of the known calls. Raises HostError if running the project's code is not
    allowed.
    """
    calls = random_calls(subject, known, _INPUTS)
    if not calls or not faults:
        return [DistinguishedFault(fault, "") for fault in faults]
    order = call_order(place, subject, calls, 2 * _SECONDS, _LATE)
    order["mutants"] = [fault.function for fault in faults]
    results = run_in_child(place, [subject.import_root], [order])
    ends = [results.of(0, number) or {} for number in results.steady()]
    lines = [end.get("lines") or () for end in ends if _is_comparable(end)]
    code = split_lines(subject.source.utf8.decode())
    found = []
    for number, fault in enumerate(faults):
        detecting = results.of_mutant(number)
        is_of_types = bool(_ASKS_FOR_TYPE.search(code[fault.line - 1]))
        if detecting != [] or is_of_types or sum(fault.line in own for own in lines) < _LEAST:
            shown = [calls[index].call for index in detecting or () if not calls[index].setup]
            found.append(DistinguishedFault(fault, min(shown, key=len, default="")))
    return found


def _is_comparable(end: Mapping[str, Any]) -> bool:
    """Return True if a call raises, or has a result of which more is known than that it is None."""
    claims = {text for _, text in end.get("claims") or ()}
    return end.get("how") == "raised" or not claims <= {"None"}
