"""Host functions with which the test agent calls a function to find possible assertions."""

import ast
from collections.abc import Sequence
from enum import StrEnum, auto
from typing import Any, NamedTuple

import msgspec

from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.operations.test.cases.best_cases import best_cases, further_cases
from remora.operations.test.cases.case import Case
from remora.operations.test.cases.hollow_cases import is_echo, is_empty_input, is_hollow
from remora.operations.test.function_context import target_at, test_files
from remora.operations.test.inputs.arguments import candidate_calls
from remora.operations.test.inputs.call_input import WRITTEN, CallInput
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.inputs.type_check import contradicts_return
from remora.operations.test.insert_location import test_path
from remora.operations.test.mutants import CALL, CONDITION, IGNORED, STATE, Mutant, mutants
from remora.operations.test.new_files import new_files
from remora.operations.test.planning.has_tests import NodesWithTests
from remora.operations.test.planning.run_doctests import RunDoctests
from remora.operations.test.runner.inline_conditions import hides_outcomes
from remora.operations.test.runner.surviving_mutants import Survivors, surviving_mutants
from remora.operations.test.runner.trials import NotImported, TrialResults, try_calls
from remora.operations.test.target_function import TargetFunction
from remora.operations.test.trivial_functions import CONSTANT, SHARED, why_trivial
from remora.python_text import parse
from remora.tools.tree import ToolTree

NO_RESULT = "no call has a result that a test can assert"
NO_EFFECT = "no planted fault changes the results, or the results are trivial"
_NEEDS_WRITER = "it needs a writer: "
_MOST_CALLS = 40
_MOST_TESTS = 40
_BEHAVIOR = {CONDITION, CALL, STATE}
_MOST_MISSED = 1 / 3
"""Faults that show whether a test notices what a function does, and how many it may miss."""
_MIN_LINE_SHARE = 0.5
"""Minimum share of a function's lines that a test must execute."""


class Cause(StrEnum):
    """Kind of reason that a function has no test."""

    UNSUITED = auto()
    """The function itself: it is trivial, or cannot be called."""
    SHARED = auto()
    NOT_IMPORTED = auto()
    DETECTED = auto()
    """Its tests detect all faults, or its examples run as tests."""
    NOTHING_SHOWN = auto()
    NEEDS_CALLS = auto()
    """Only calls that a writer knows make a test."""
    NEEDS_ROW = auto()

    @property
    def may_need_writer(self) -> bool:
        """True if other calls of the function may change it."""
        return self in (Cause.NOTHING_SHOWN, Cause.NEEDS_CALLS)


class ProjectTexts(NamedTuple):
    """The examples and the test files of a project, which the plans of several functions share."""

    examples: ProjectExamples
    tests: dict[str, str]
    doctests: RunDoctests


def project_texts(place: ToolTree) -> ProjectTexts:
    """Return the texts of a project, as they are now."""
    tests = test_files(place)
    return ProjectTexts(ProjectExamples(place), tests, RunDoctests(place, tests))


def test_plan(place: ToolTree, path: str, node: str) -> dict[str, Any]:
    """Return the assertions that a test of a function could make.

    `node` is the function's qualname.

    The function is called as documentation and its own tests call it. Each call runs twice in
    different circumstances, and once with each mutant.

    The result contains:

    - `state`: `open`, or `unfit` with a `cause` and a `reason`
    - `cases`: the calls that together kill the most mutants, each with `call`, and `value`,
      `claims` or `raises`
    - `killed` and `mutants`: the number of mutants that the test kills, and the number of all
      mutants
    - `lines` and `all_lines`: the number of lines that the cases execute, and the number of all
      lines
    - `calls`: the number of tried calls
    """
    return plan_missing(place, path, node, project_texts(place))


def plan_missing(place: ToolTree, path: str, node: str, texts: ProjectTexts) -> dict[str, Any]:
    """Return the same as `test_plan`. `texts` are those of the project."""
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        return _unfit(Cause.UNSUITED, subject)
    trivial = why_trivial(subject)
    calls = [] if trivial in (CONSTANT, SHARED) else candidate_calls(subject, texts.examples)
    if trivial:
        calls = [each for each in calls if each.source in WRITTEN]
    if trivial and not calls:
        return _unfit(Cause.SHARED if trivial == SHARED else Cause.UNSUITED, trivial)
    if not calls:
        return _unfit(Cause.NEEDS_CALLS, f"{_NEEDS_WRITER}no example shows arguments for it")
    return _plan_from_calls(place, subject, calls, texts)


def _plan_from_calls(
    place: ToolTree,
    subject: TargetFunction,
    calls: Sequence[CallInput],
    texts: ProjectTexts,
) -> dict[str, Any]:
    faults = mutants(place.read(subject.path), subject.qualname)
    try:
        found = try_calls(place, subject, calls, faults=faults)
    except NotImported as error:
        return _unfit(Cause.NOT_IMPORTED, error.message)
    pairs = zip(found.cases, found.killed, strict=True)
    kept = [
        (case, dead)
        for case, dead in pairs
        if _is_assertable(subject, case) and not _has_idle_options(case, dead, faults)
    ]
    found = found._replace(cases=[case for case, _ in kept], killed=[dead for _, dead in kept])
    if not found.cases:
        return _unfit(Cause.NOTHING_SHOWN, NO_RESULT, calls=len(calls))
    weighed = _rank(subject, found, faults)
    if weighed.why:
        cause = Cause.NOTHING_SHOWN if weighed.why == NO_EFFECT else Cause.NEEDS_CALLS
        return _unfit(cause, weighed.why, calls=len(calls))
    return _open(place, subject, weighed, texts, calls=len(calls), mutants=len(faults))


def strengthen_plan(place: ToolTree, path: str, node: str) -> dict[str, Any]:
    """Return assertions that detect faults which the existing tests of a function do not detect.

    The tests that reach the function run with each mutant. Mutants that survive are tried with
    calls from documentation and from its tests. The result is like that of `test_plan`. `mutants` counts only
    survivors. A function that no test reaches is handled by `test_plan`, unless its examples run as
    tests. Where a test of the function has a table, the reason names a row that it lacks.
    """
    return plan_further(place, path, node, project_texts(place))


def plan_further(place: ToolTree, path: str, node: str, texts: ProjectTexts) -> dict[str, Any]:
    """Return the same as `strengthen_plan`. `texts` are those of the project."""
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        return _unfit(Cause.UNSUITED, subject)
    examples = texts.examples
    direct = examples.tests_of(subject)
    ids = direct or NodesWithTests(place.tree).tests_of(node_key(escape_path(path), node))
    faults = mutants(place.read(path), node)
    alive = surviving_mutants(place, subject, ids[:_MOST_TESTS], faults) if ids else None
    if alive is None or not alive.tests:
        if _run_sources(subject, texts.doctests):
            return _unfit(Cause.DETECTED, "its examples run as tests")
        return plan_missing(place, path, node, texts)
    if not alive.mutants:
        return _unfit(Cause.DETECTED, f"its tests detect all {alive.tried} planted faults")
    return _plan_from_survivors(place, subject, texts, alive, table=examples.table_of(direct))


def _plan_from_survivors(
    place: ToolTree, subject: TargetFunction, texts: ProjectTexts, alive: Survivors, *, table: str
) -> dict[str, Any]:
    """Return calls that detect survivors. `table` is the name of a test that could have them."""
    calls = candidate_calls(subject, texts.examples)
    found = try_calls(place, subject, calls, faults=alive.mutants)
    run = _run_sources(subject, texts.doctests)
    pairs = [*zip(found.cases, found.killed, strict=True)]
    known = frozenset[int]().union(*(dead for case, dead in pairs if case.source in run))
    kept = [
        (case, dead - known)
        for case, dead in pairs
        if dead - known and _is_assertable(subject, case)
    ]
    chosen = further_cases([case for case, _ in kept], [dead for _, dead in kept])
    survive = len(alive.mutants) - len(known)
    if not survive:
        return _unfit(Cause.DETECTED, f"its tests detect all {alive.tried} planted faults")
    if not chosen:
        few = f"{survive} of {alive.tried} planted faults survive its tests"
        why = f"{_NEEDS_WRITER}{few}, and no known call detects them"
        return _unfit(Cause.NEEDS_CALLS, why, calls=len(calls))
    if table and not chosen[0].setup:
        row = f"a row for {chosen[0].call} in the table of {table} would detect faults"
        return _unfit(Cause.NEEDS_ROW, f"{_NEEDS_WRITER}{row}", calls=len(calls))
    dead = frozenset[int]().union(*(dead for case, dead in kept if case in chosen))
    ranking = _Ranking(chosen, len(dead), "")
    return _open(place, subject, ranking, texts, calls=len(calls), mutants=survive)


def _run_sources(subject: TargetFunction, doctests: RunDoctests) -> set[str]:
    """Return the sources of calls that run as tests, if the function has examples."""
    if ">>> " in (ast.get_docstring(subject.function) or "") and doctests.runs(subject.path):
        return {"docstring"}
    return set()


def _open(
    place: ToolTree,
    subject: TargetFunction,
    ranking: "_Ranking",
    texts: ProjectTexts,
    *,
    calls: int,
    mutants: int,
) -> dict[str, Any]:
    new = new_files(place, texts.tests)
    return {
        "state": "open",
        "reason": "",
        "path": test_path(subject, texts.tests, place.files.exists, new),
        "cases": [msgspec.to_builtins(case) for case in ranking.chosen],
        "calls": calls,
        "killed": ranking.killed,
        "mutants": mutants,
        **line_counts(subject, ranking.chosen),
    }


def _is_assertable(subject: TargetFunction, case: Case) -> bool:
    """Return False if the result contradicts what the function says, or says nothing itself.

    None needs a docstring or an annotation that mentions it.
    """
    if is_echo(case) or (is_hollow(case) and not is_empty_input(case)):
        return False
    if case.value and not case.listed and contradicts_return(subject, case.value):
        return False
    if case.value != "None":
        return True
    says = [ast.get_docstring(subject.function) or ""]
    if subject.function.returns is not None:
        says.append(ast.unparse(subject.function.returns))
    return any("None" in text or "Optional" in text for text in says)


def _has_idle_options(case: Case, dead: frozenset[int], faults: list[Mutant]) -> bool:
    """Return True if the call passes options by name, none of which changes the result."""
    call = parse(case.call, "eval").body
    words = call.keywords if isinstance(call, ast.Call) else []
    options = {IGNORED.format(word.arg) for word in words}
    tried = {n for n, one in enumerate(faults) if one.what in options}
    return bool(tried) and not tried & dead


class _Ranking(NamedTuple):
    """The best cases, with the number of mutants that they kill.

    `why` is the reason no test is worth writing, or an empty string.
    """

    chosen: list[Case]
    killed: int
    why: str


def _rank(subject: TargetFunction, found: TrialResults, faults: list[Mutant]) -> _Ranking:
    chosen = best_cases(found.cases, found.killed)
    dead = frozenset[int]().union(*(found.killed[found.cases.index(case)] for case in chosen))
    why = ""
    if not chosen or not dead:
        why = NO_EFFECT
    elif not _runs_most(subject, chosen):
        why = f"{_NEEDS_WRITER}known arguments reach only a small part of it"
    elif hides_outcomes(chosen):
        why = f"{_NEEDS_WRITER}known arguments show one outcome of a condition"
    elif _misses_behavior(chosen, dead, faults):
        why = f"{_NEEDS_WRITER}known arguments do not show what a condition or a call is for"
    return _Ranking(chosen, len(dead), why)


def _misses_behavior(chosen: list[Case], dead: frozenset[int], faults: list[Mutant]) -> bool:
    """Return True if the cases execute conditions and calls, and many of them make no difference.

    Each change of an object that they execute must make one.
    """
    run = {line for case in chosen for line in case.lines}
    near = {n for n, one in enumerate(faults) if one.line in run and one.kind in _BEHAVIOR}
    missed = near - dead
    return len(missed) > _MOST_MISSED * len(near) or any(faults[n].kind == STATE for n in missed)


def _unfit(cause: Cause, reason: str, **more: int) -> dict[str, Any]:
    return {"state": "unfit", "cause": cause, "reason": reason, "cases": [], **more}


def _runs_most(subject: TargetFunction, chosen: list[Case]) -> bool:
    """Return True if the cases execute enough of the statements that do not handle errors."""
    handled = {
        each.lineno
        for one in ast.walk(subject.function)
        if isinstance(one, ast.Raise | ast.ExceptHandler)
        for each in ast.walk(one)
        if isinstance(each, ast.stmt | ast.ExceptHandler)
    }
    body = _body_lines(subject) - handled
    run = {line for case in chosen for line in case.lines}
    return len(body & run) >= _MIN_LINE_SHARE * len(body)


def _body_lines(subject: TargetFunction) -> set[int]:
    body = {one.lineno for one in ast.walk(subject.function) if isinstance(one, ast.stmt)}
    body -= {subject.function.lineno}
    first = subject.function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body.discard(first.lineno)
    return body


def line_counts(subject: TargetFunction, chosen: list[Case]) -> dict[str, int]:
    body = _body_lines(subject)
    run = {line for case in chosen for line in case.lines}
    return {"lines": len(body & run), "all_lines": len(body)}


def observe_calls(place: ToolTree, path: str, node: str, calls: list[str]) -> list[dict[str, Any]]:
    """Run calls and return their results. The calls are expressions in the module's namespace.

    Each result contains `value` or `raises`. It contains neither if the result differs between two
    runs or cannot be asserted.
    """
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        raise HostError(f"{node}: {subject}")
    if len(calls) > _MOST_CALLS:
        raise HostError(f"too many calls: {len(calls)} (maximum {_MOST_CALLS})")
    given = [CallInput(call=call) for call in calls]
    cases = {case.call: case for case in try_calls(place, subject, given).cases}
    return [
        {"call": c, "value": cases[c].value, "raises": cases[c].raises}
        if c in cases
        else {"call": c}
        for c in calls
    ]
