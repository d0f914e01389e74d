"""Further cases for the existing tests of a function, which detect faults that these miss."""

from collections.abc import Sequence

from remora.ids import escape_path, node_key
from remora.judges.calls.case import CallInput, Case, case_problem
from remora.judges.calls.equivalent_faults import without_equivalent
from remora.judges.calls.own_cases import OwnCase, arguments_of
from remora.judges.calls.project_examples import ProjectExamples, documented_calls
from remora.judges.calls.random_calls import boundary_calls
from remora.judges.calls.target_function import TargetFunction, target_at
from remora.judges.calls.trials import TrialResults, try_calls
from remora.judges.tests.run_doctests import RunDoctests
from remora.judges.tests.surviving_mutants import Survivors, boundary_faults, surviving_mutants
from remora.judges.tests.tested_names import NodesWithTests, test_files
from remora.operations.test.function_plan import NEEDS_WRITER, FunctionPlan, detected_by, plan_of
from remora.operations.test.insert.further_cases import further_case
from remora.operations.test.test_home import home_of
from remora.tools.tree import ToolTree

_NOT_REACHED = "no test that can run reaches it"
_MOST_TESTS = 40
_MOST_CALLS = 24
_MOST_CASES = 8
_TRIVIAL = frozenset({"None", "''", "b''", "[]", "()", "{}", "set()", "False", ""})


def plan_further(
    place: ToolTree, path: str, node: str, examples: ProjectExamples, lines: Sequence[int]
) -> FunctionPlan:
    """Return cases for the existing tests of a function, which detect faults that these miss.

    The tests that reach the function run with each mutant of some of its lines. Mutants that
    survive are tried with boundary values of the function's code and with calls from documentation,
    and `mutants` counts only these.
    """
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        return FunctionPlan(reason=subject)
    direct = examples.tests_of(subject)
    ids = direct or NodesWithTests(place).tests_of(node_key(escape_path(path), node))
    faults = boundary_faults(place.read(path), node, lines)
    alive = surviving_mutants(place, subject, ids[:_MOST_TESTS], faults) if ids else None
    if alive is None or not alive.tests:
        return FunctionPlan(reason=_NOT_REACHED, needs_writer=True)
    tests = test_files(place)
    files = [home_of(place, subject, tests).path, *(test.partition("::")[0] for test in direct)]
    own = next(filter(None, (examples.own_cases(subject, file) for file in files)), [])
    runs = RunDoctests(place, tests).are_tests_of(subject.function, subject.path)
    shown = [
        call
        for call in documented_calls(subject, examples)
        if not (runs and call.source == "docstring")
    ]
    return _plan_for_survivors(place, subject, alive, own, shown)


def _plan_for_survivors(
    place: ToolTree,
    subject: TargetFunction,
    alive: Survivors,
    own: Sequence[OwnCase],
    shown: Sequence[CallInput],
) -> FunctionPlan:
    known = [case.call for case in own]
    faults = [kept.fault for kept in without_equivalent(place, subject, known, alive.mutants)]
    if not faults:
        return FunctionPlan(reason=f"its tests detect all {alive.tried} planted faults")
    given = [arguments_of(call.call, subject) for call in known]
    calls = [
        call
        for call in (*shown, *boundary_calls(subject, known))
        if arguments_of(call.call, subject) not in given
    ][:_MOST_CALLS]
    found = try_calls(place, subject, calls, faults=faults) if own and calls else TrialResults()
    further = {
        case: made for case in found.cases if (made := further_case(case, subject, own)) is not None
    }
    chosen = chosen_cases(found, [*further])
    if not chosen:
        few = f"{len(faults)} of {alive.tried} planted faults survive its tests"
        why = f"{NEEDS_WRITER}{few}, and no known call that fits into them detects one"
        return FunctionPlan(reason=why, needs_writer=True)
    plan = plan_of(subject, chosen, len(detected_by(chosen, found)), len(faults))
    return plan._replace(cases=(), further=[further[case] for case in chosen])


def chosen_cases(found: TrialResults, usable: Sequence[Case]) -> list[Case]:
    """Return the usable cases that together detect most mutants.

    Of equal cases, those with results that are not trivial come first, and then the shortest.
    """
    tried = zip(found.cases, found.killed, strict=True)
    left = [(case, killed) for case, killed in tried if case in usable and not case_problem(case)]
    chosen: list[Case] = []
    known: frozenset[int] = frozenset()
    while len(chosen) < _MOST_CASES:
        useful = [tried for tried in left if tried[1] - known]
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


def _length(case: Case) -> int:
    return sum(map(len, (*case.setup, case.call, case.value)))
