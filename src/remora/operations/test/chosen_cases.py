"""Selection of the calls that become further cases of a test."""

from collections.abc import Sequence

from remora.operations.test.cases.case import Case, case_problem
from remora.operations.test.runner.trials import TrialResults

_MOST_CASES = 8
_TRIVIAL = frozenset({"None", "''", "b''", "[]", "()", "{}", "set()", "False", ""})


def chosen_cases(found: TrialResults) -> list[Case]:
    """Return the cases that together detect most mutants.

    Of equal cases, those with results that are not trivial come first, and then the shortest.
    """
    tried = zip(found.cases, found.killed, strict=True)
    left = [(case, killed) for case, killed in tried if not case_problem(case)]
    chosen: list[Case] = []
    known: frozenset[int] = frozenset()
    while len(chosen) < _MOST_CASES:
        useful = [one for one in left if one[1] - known]
        if not useful:
            break
        case, killed = min(
            useful,
            key=lambda tried: (
                -len(tried[1] - known), tried[0].value in _TRIVIAL, _length(tried[0]),
            ),
        )  # fmt: skip
        chosen.append(case)
        known |= killed
    return sorted(chosen, key=lambda case: (bool(case.raises), found.cases.index(case)))


def detected_by(chosen: Sequence[Case], found: TrialResults) -> frozenset[int]:
    """Return the mutants that some of the tried cases detect."""
    pairs = zip(found.cases, found.killed, strict=True)
    return frozenset[int]().union(*(killed for case, killed in pairs if case in chosen))


def _length(case: Case) -> int:
    return sum(map(len, (*case.setup, case.call, case.value)))
