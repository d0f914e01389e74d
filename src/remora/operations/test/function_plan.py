"""The cases that a test of a function could have, found by calls in isolation."""

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from remora.ids import escape_path, node_key
from remora.operations.test.cases.case import Case, case_problem
from remora.operations.test.chosen_cases import chosen_cases, detected_by
from remora.operations.test.fault_kinds import CALL, CONDITION
from remora.operations.test.function_context import home_of, target_at, test_files
from remora.operations.test.inputs.own_cases import OwnCase
from remora.operations.test.inputs.project_examples import (
    ProjectExamples,
    further_calls,
    stated_calls,
)
from remora.operations.test.insert.further_cases import FurtherCase, further_case
from remora.operations.test.mutants import Mutant, mutants
from remora.operations.test.planning.run_doctests import RunDoctests
from remora.operations.test.planning.tested_names import NodesWithTests
from remora.operations.test.runner.equivalent_faults import without_equivalent
from remora.operations.test.runner.mutation_check import (
    Survivors,
    boundary_faults,
    surviving_mutants,
)
from remora.operations.test.runner.trials import NotImported, TrialResults, try_calls
from remora.operations.test.target_function import TargetFunction
from remora.operations.test.trivial_functions import SAYS_NOTHING, why_trivial
from remora.tools.tree import ToolTree

_NEEDS_WRITER = "it needs a person or a model: "
_OTHER_RESULT = "its result is not the one that the example shows"
_MOST_EXAMPLES = 8
_NOT_REACHED = "no test that can run reaches it"
_RUN_EXAMPLES = "its examples run as tests"
_MOST_TESTS = 40
_MOST_MISSED = 1 / 3
"""How many negated conditions and removed calls a test may miss on the lines that it executes."""


class FunctionPlan(NamedTuple):
    """The cases of a new test, or the `further` ones of existing tests, or the `reason` for none.

    `worth` contains the number of `killed` mutants and of all `mutants`, and that of the executed
    `lines` of `all_lines`. If `needs_writer` is true, other calls of the function may change it.
    """

    cases: Sequence[Case] = ()
    further: Sequence[FurtherCase] = ()
    worth: Mapping[str, int] = {}
    reason: str = ""
    needs_writer: bool = False

    @property
    def can_continue(self) -> bool:
        """Return True if a model may know more cases, also where a test turned out to be wrong."""
        return self.needs_writer or bool(self.cases or self.further)


class ProjectTexts(NamedTuple):
    """The examples of a project, and those that run as tests, for the plans of several functions."""

    examples: ProjectExamples
    doctests: RunDoctests
    tests: dict[str, str]


def project_texts(place: ToolTree) -> ProjectTexts:
    """Return the texts of a project, as they are now."""
    tests = test_files(place)
    return ProjectTexts(ProjectExamples(place), RunDoctests(place, tests), tests)


def plan_missing(place: ToolTree, path: str, node: str, texts: ProjectTexts) -> FunctionPlan:
    """Return the cases of a first test of a function. `node` is its qualname.

    These are the calls that documentation shows with their results. Each runs twice in different
    circumstances, and once with each mutant. A call whose result is another one is left out.
    """
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        return FunctionPlan(reason=subject)
    trivial = why_trivial(subject)
    calls = [] if trivial in SAYS_NOTHING else stated_calls(subject, texts.examples)
    if not calls:
        reason = trivial or f"{_NEEDS_WRITER}no example shows a call of it with its result"
        return FunctionPlan(reason=reason, needs_writer=not trivial)
    faults = mutants(place.read(path), node)
    try:
        found = try_calls(place, subject, calls, faults=faults)
    except NotImported as error:
        return FunctionPlan(reason=error.message)
    chosen = [case for case in found.cases if case.is_as_shown and not case_problem(case)]
    chosen, dead = chosen[:_MOST_EXAMPLES], detected_by(chosen, found)
    if why := _example_problem(chosen, found) or _fault_problem(chosen, dead, faults):
        return FunctionPlan(reason=why, needs_writer=True)
    return _plan_of(subject, chosen, len(dead), len(faults))


def plan_further(
    place: ToolTree, path: str, node: str, texts: ProjectTexts, lines: Sequence[int]
) -> FunctionPlan:
    """Return cases for the existing tests of a function, which detect faults that these miss.

    The tests that reach the function run with each mutant of some of its lines. Mutants that
    survive are tried with boundary values of the function's code and with calls from documentation,
    and `mutants` counts only these.
    """
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        return FunctionPlan(reason=subject)
    direct = texts.examples.tests_of(subject)
    ids = direct or NodesWithTests(place.tree).tests_of(node_key(escape_path(path), node))
    faults = boundary_faults(place.read(path), node, lines)
    alive = surviving_mutants(place, subject, ids[:_MOST_TESTS], faults) if ids else None
    if alive is None or not alive.tests:
        return FunctionPlan(reason=_NOT_REACHED, needs_writer=True)
    home = home_of(place, subject, texts.tests).path
    files = dict.fromkeys([home, *(test.partition("::")[0] for test in direct)])
    cases = (texts.examples.own_cases(subject, file) for file in files)
    return _plan_for_survivors(place, subject, texts, alive, next(filter(None, cases), []))


def _plan_for_survivors(
    place: ToolTree,
    subject: TargetFunction,
    texts: ProjectTexts,
    alive: Survivors,
    own: Sequence[OwnCase],
) -> FunctionPlan:
    known = [case.call for case in own]
    faults = [kept.fault for kept in without_equivalent(place, subject, known, alive.mutants)]
    if not faults:
        return FunctionPlan(reason=f"its tests detect all {alive.tried} planted faults")
    calls = further_calls(subject, own, texts.examples) if own else []
    found = try_calls(place, subject, calls, faults=faults) if calls else TrialResults([], [], [])
    run = texts.doctests.are_tests_of(subject.function, subject.path)
    pairs = [*zip(found.cases, found.killed, strict=True)]
    shown = frozenset[int]().union(
        *(dead for case, dead in pairs if run and case.source == "docstring")
    )
    if len(shown) == len(faults):
        return FunctionPlan(reason=_RUN_EXAMPLES)
    places = [further_case(case, subject, own) for case in found.cases]
    kept = [
        number
        for number, further in enumerate(places)
        if further is not None and not (run and found.cases[number].source == "docstring")
    ]
    found = found._replace(
        cases=[found.cases[number] for number in kept],
        killed=[found.killed[number] - shown for number in kept],
    )
    chosen = chosen_cases(found)
    if not chosen:
        few = f"{len(faults) - len(shown)} of {alive.tried} planted faults survive its tests"
        why = f"{_NEEDS_WRITER}{few}, and no known call that fits into them detects one"
        return FunctionPlan(reason=why, needs_writer=True)
    further = [each for case in chosen if (each := further_case(case, subject, own)) is not None]
    plan = _plan_of(subject, chosen, len(detected_by(chosen, found)), len(faults) - len(shown))
    return plan._replace(cases=(), further=further)


def _example_problem(chosen: Sequence[Case], found: TrialResults) -> str:
    """Return why no example can be asserted, or an empty string if one can."""
    if chosen:
        return ""
    problems = [
        *found.problems,
        *((case.call, case_problem(case) or _OTHER_RESULT) for case in found.cases),
    ]
    return next((f"{call}: {why}" for call, why in problems), _OTHER_RESULT)


def _fault_problem(chosen: Sequence[Case], dead: frozenset[int], faults: Sequence[Mutant]) -> str:
    """Return that the examples detect no fault, or few in the conditions and calls that they run."""
    if not dead:
        return "its examples detect no planted fault"
    run = {line for case in chosen for line in case.lines}
    near = {n for n, one in enumerate(faults) if one.line in run and one.kind in (CONDITION, CALL)}
    if len(near - dead) > _MOST_MISSED * len(near):
        return f"{_NEEDS_WRITER}its examples do not show what a condition or a call is for"
    return ""


def _plan_of(
    subject: TargetFunction, chosen: Sequence[Case], killed: int, mutants: int
) -> FunctionPlan:
    run = {line for case in chosen for line in case.lines}
    worth = {"killed": killed, "mutants": mutants, **line_counts(subject, run)}
    return FunctionPlan(cases=chosen, worth=worth)


def line_counts(subject: TargetFunction, run: Collection[int]) -> dict[str, int]:
    """Return how many of the function's lines were run, and how many it has."""
    body = {one.lineno for one in ast.walk(subject.function) if isinstance(one, ast.stmt)}
    body -= {subject.function.lineno}
    first = subject.function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body.discard(first.lineno)
    return {"lines": len(body & {*run}), "all_lines": len(body)}
