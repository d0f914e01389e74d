"""The cases that a test of a function could have, found by calls in isolation."""

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from remora.judges.calls.case import Case, case_problem
from remora.judges.calls.project_examples import ProjectExamples, stated_calls
from remora.judges.calls.target_function import TargetFunction, target_at
from remora.judges.calls.trials import NotImported, TrialResults, try_calls, wrong_examples
from remora.judges.faults.fault_kinds import FaultKind
from remora.judges.faults.mutants import Mutant, mutants
from remora.operations.test.insert.further_cases import FurtherCase
from remora.operations.test.trivial_functions import TRIVIAL, is_trivial
from remora.tools.tree import ToolTree

NEEDS_WRITER = "it needs a person or a model: "
_OTHER_RESULT = "its result is not the one that the example shows"
_MOST_EXAMPLES = 8
_MOST_MISSED = 1 / 3
"""Negated conditions and removed calls that a test may miss on the lines that it executes."""


class FunctionPlan(NamedTuple):
    """What a test of a function could have, or why it has nothing."""

    cases: Sequence[Case] = ()
    """The cases of a new test."""
    further: Sequence[FurtherCase] = ()
    """Further cases of existing tests."""
    worth: Mapping[str, int] = {}
    """`killed` mutants of all `mutants`, and executed `lines` of `all_lines`."""
    reason: str = ""
    """Why there are no cases."""
    wrong: Sequence[str] = ()
    """Examples that show another result than the code gives, in words."""
    needs_writer: bool = False
    """True if other calls of the function may change that."""

    @property
    def can_continue(self) -> bool:
        """Return True if a model may know more cases, also where a test turned out to be wrong."""
        return self.needs_writer or bool(self.cases or self.further)


def plan_missing(place: ToolTree, path: str, node: str, examples: ProjectExamples) -> FunctionPlan:
    """Return the cases of a first test of a function. `node` is its qualname.

    These are the calls that documentation shows with their results. Each runs twice in different
    circumstances, and once with each mutant. A call whose result is another one is left out.
    """
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        return FunctionPlan(reason=subject)
    if is_trivial(subject):
        return FunctionPlan(reason=TRIVIAL)
    calls = stated_calls(subject, examples)
    if not calls:
        reason = f"{NEEDS_WRITER}no example shows a call of it with its result"
        return FunctionPlan(reason=reason, needs_writer=True)
    faults = mutants(place.read(path), node)
    try:
        found = try_calls(place, subject, calls, faults=faults)
    except NotImported as error:
        return FunctionPlan(reason=error.message)
    wrong = wrong_examples(place, subject, [case for case in found.cases if not case.is_as_shown])
    chosen = [case for case in found.cases if case.is_as_shown and not case_problem(case)]
    chosen, dead = chosen[:_MOST_EXAMPLES], detected_by(chosen, found)
    if why := _example_problem(chosen, found) or _fault_problem(chosen, dead, faults):
        return FunctionPlan(reason=why, wrong=wrong, needs_writer=True)
    return plan_of(subject, chosen, len(dead), len(faults))._replace(wrong=wrong)


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
    near = {
        number
        for number, fault in enumerate(faults)
        if fault.line in run and fault.kind in (FaultKind.CONDITION, FaultKind.CALL)
    }
    if len(near - dead) > _MOST_MISSED * len(near):
        return f"{NEEDS_WRITER}its examples do not show what a condition or a call is for"
    return ""


def plan_of(
    subject: TargetFunction, chosen: Sequence[Case], killed: int, mutants: int
) -> FunctionPlan:
    run = {line for case in chosen for line in case.lines}
    worth = {"killed": killed, "mutants": mutants, **line_counts(subject, run)}
    return FunctionPlan(cases=chosen, worth=worth)


def line_counts(subject: TargetFunction, run: Collection[int]) -> dict[str, int]:
    """Return how many of the function's lines were run, and how many it has."""
    body = {node.lineno for node in ast.walk(subject.function) if isinstance(node, ast.stmt)}
    body -= {subject.function.lineno}
    first = subject.function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body.discard(first.lineno)
    return {"lines": len(body & {*run}), "all_lines": len(body)}


def detected_by(chosen: Sequence[Case], found: TrialResults) -> frozenset[int]:
    """Return the mutants that some of the tried cases detect."""
    pairs = zip(found.cases, found.killed, strict=True)
    return frozenset[int]().union(*(killed for case, killed in pairs if case in chosen))
