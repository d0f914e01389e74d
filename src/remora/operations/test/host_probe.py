"""Host functions with which the test agent calls a function to find possible assertions."""

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from remora.errors import HostError
from remora.operations.test.cases.arguments import candidate_calls, literal_calls
from remora.operations.test.cases.best_cases import Case, best_cases
from remora.operations.test.cases.property_guesses import Property, best_property, properties_of
from remora.operations.test.cases.type_check import contradicts
from remora.operations.test.function_context import (
    callers_of,
    names_hypothesis,
    target_at,
    test_files,
)
from remora.operations.test.mutants import Mutant, mutants
from remora.operations.test.runner.trials import TrialResults, cases_of, killed_by, try_calls
from remora.operations.test.target_function import TargetFunction
from remora.operations.test.test_location import locate_test
from remora.tools.tree import ToolTree

_MOST_CALLS = 40
_NONE_SPELLED = "'None'"
_MIN_KILLED_SHARE = 0.25
"""Minimum share of mutants that a test must kill."""


def test_plan(place: ToolTree, path: str, node: str) -> dict[str, Any]:
    """Return the assertions that a test of a function could make.

    `node` is the function's qualname.

    The function is called with arguments from examples, arguments from calls in the project, and
    arguments chosen by type and usage. Each call runs twice in different circumstances, and once
    with each mutant.

    The result contains:

    - `state`: `open`, or `unfit` with a `reason`
    - `cases`: the calls that together kill the most mutants, each with `call`, and `value` or
      `raises`
    - `killed` and `mutants`: the number of mutants that the cases kill, and the number of all
      mutants
    - `lines` and `all_lines`: the number of lines that the cases execute, and the number of all
      lines
    - `of_values`: the same numbers for the cases that do not raise an exception
    - `of_property`: the same numbers for the property, without lines
    - `holds`: a property that holds in a Hypothesis test, if the project has Hypothesis installed
    - `holds_killed`: the number of mutants that the property kills
    - `prefer_holds`: true if the project uses Hypothesis and the property kills at least as many
      mutants as the cases
    """
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        return _unfit(subject)
    others = callers_of(place, subject)
    calls = candidate_calls(subject, others)
    groups = properties_of(subject, others)
    try:
        found = try_calls(place, subject, calls, groups) if calls or groups else None
    except HostError as error:
        if not error.message.startswith("import of "):
            raise
        return _unfit(error.message)
    cases = [case for case in found.cases if _is_intended_use(subject, case)] if found else []
    if found is None or not (cases or found.properties):
        why = "no call with known values has a result that a test can assert"
        return _unfit(why, calls=len(calls))
    faults = mutants(place.read(path), node)
    literal = frozenset(literal_calls(subject.function, [subject.source.tree, *others]))
    weighed = _rank(place, subject, TrialResults(cases, found.properties), faults, literal)
    tests = test_files(place)
    named = weighed.holds is not None and names_hypothesis(place, tests)
    if weighed.why and not (named and _kills_enough(weighed.holds_killed, faults)):
        return _unfit(weighed.why, calls=len(calls))
    chosen = [] if weighed.why else weighed.chosen
    of_all = _case_measurements(subject, chosen, weighed.by_call, len(faults))
    of_values = [case for case in chosen if not case.raises]
    home = locate_test(subject, tests, place.files.exists)
    return {
        "state": "open",
        "reason": "",
        "path": home.path,
        "cases": [msgspec.to_builtins(case) for case in chosen],
        "holds": msgspec.to_builtins(weighed.holds),
        "holds_killed": weighed.holds_killed,
        "prefer_holds": named and weighed.holds_killed >= of_all["killed"],
        "calls": len(calls),
        **of_all,
        "of_values": _case_measurements(subject, of_values, weighed.by_call, len(faults)),
        "of_property": {
            "killed": weighed.holds_killed,
            "mutants": len(faults),
            "lines": 0,
            "all_lines": 0,
        },
    }


def _case_measurements(
    subject: TargetFunction, cases: list[Case], killed: Mapping[str, frozenset[int]], faults: int
) -> dict[str, int]:
    return {
        "killed": len(_killed_mutants(cases, killed)),
        "mutants": faults,
        **_line_counts(subject, cases),
    }


def _killed_mutants(cases: list[Case], killed: Mapping[str, frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*(killed[case.call] for case in cases))


def _is_intended_use(subject: TargetFunction, case: Case) -> bool:
    """Return False if an argument contradicts its annotation or the result is `"None"`."""
    return bool(case.raises) or not (contradicts(subject, case.call) or case.value == _NONE_SPELLED)


class _Ranking(NamedTuple):
    """The best cases and the best property, with the mutants that they kill.

    `why` is the reason the cases are not worth a test, or an empty string.
    """

    chosen: list[Case]
    by_call: Mapping[str, frozenset[int]]
    holds: Property | None
    holds_killed: int
    why: str


def _rank(
    place: ToolTree,
    subject: TargetFunction,
    found: TrialResults,
    faults: list[Mutant],
    literal: frozenset[str],
) -> _Ranking:
    killed = killed_by(place, subject, found.cases, found.properties, faults)
    chosen = best_cases(found.cases, killed.by_call, literal)
    dead = _killed_mutants(chosen, killed.by_call)
    best = best_property(found.properties, killed.by_property)
    holds, notes = best if best is not None else (None, frozenset())
    why = ""
    if not chosen:
        why = "no planted fault changes the results, or the results are trivial"
    elif not _kills_enough(len(dead), faults):
        why = f"only {len(dead)} of {len(faults)} planted faults change the results"
    return _Ranking(chosen, killed.by_call, holds, len(notes), why)


def _kills_enough(killed: int, faults: list[Mutant]) -> bool:
    return killed > 0 and killed >= _MIN_KILLED_SHARE * len(faults)


def _unfit(reason: str, **more: int) -> dict[str, Any]:
    return {"state": "unfit", "reason": reason, "cases": [], **more}


def _line_counts(subject: TargetFunction, chosen: list[Case]) -> dict[str, int]:
    body = {one.lineno for one in ast.walk(subject.function) if isinstance(one, ast.stmt)}
    body -= {subject.function.lineno}
    first = subject.function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body.discard(first.lineno)
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
    cases = {case.call: case for case in cases_of(place, subject, calls)}
    return [
        {"call": c, "value": cases[c].value, "raises": cases[c].raises}
        if c in cases
        else {"call": c}
        for c in calls
    ]
