"""Proof that tests pass in different circumstances, and the mutants of a function that they kill."""

import functools
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from remora.errors import HostError
from remora.judges.calls.target_function import TargetFunction, require_target
from remora.judges.faults.fault_kinds import CONDITION
from remora.judges.faults.mutants import Mutant, mutants
from remora.judges.runner.orders import fault_order, run_orders, test_order
from remora.judges.runner.parent import CIRCUMSTANCES, Order, run_in_child
from remora.tools.tree import ToolTree

PROOF_S = 240.0
"""Time limit of one proof."""
_TESTS_S = 60.0
_DECIDING = (
    "comparison True", "comparison False", "boundary", "boundary below", CONDITION, "and or", "not",
    "choice", "option",
)  # fmt: skip
"""Kinds of faults that a boundary may tell apart from the code, the closest first."""
_HIDDEN = "a decorator hides the function's code, so no fault can be planted in it"
_UNFINISHED: dict[str, Any] = {"tests": {}, "problem": "the tests did not finish"}
_EVERY = 400
_MOST_FURTHER = 40
"""Mutants with which tests with further cases run. Of 20 of all kinds, 4 are of comparisons."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a proof."""

    problem: str = ""
    """The reason the tests do not pass, or an empty string."""
    killed: tuple[str, ...] = ()
    """The mutants that the tests kill, in words."""
    tried: int = 0
    """The number of mutants with which the tests ran."""
    lines: tuple[int, ...] = ()
    """The executed lines of the function."""


def prove(place: ToolTree, path: str, qualname: str, ids: Sequence[str]) -> Proof:
    """Run the tests twice, and then with mutants.

    `ids` contains the pytest ids of the tests. Raises HostError if running the project's code is
    not allowed.
    """
    return prove_together(place, path, {qualname: ids}, whole=True)[qualname]


def prove_together(
    place: ToolTree, path: str, groups: Mapping[str, Sequence[str]], *, whole: bool = False
) -> dict[str, Proof]:
    """Prove the tests of several functions of a file like `prove`, in fewer processes.

    `groups` maps the qualname of each function to the pytest ids of its tests. Those of each
    function run on their own, and all of them together: tests that fail only beside others do not
    pass. Unless the proof is `whole`, a test is not tried with further mutants after one has made
    an assertion fail.
    """
    subjects = {name: require_target(place, path, name) for name in groups}
    roots = [next(iter(subjects.values())).import_root]
    every = [*dict.fromkeys(test for ids in groups.values() for test in ids)]
    runs = _run_twice(place, path, roots, [*groups.values(), *([every] if len(groups) > 1 else ())])
    found = {
        name: _passing(subjects[name], ids, runs[number], runs[-1])
        for number, (name, ids) in enumerate(groups.items())
    }
    sound = [name for name, proof in found.items() if not proof.problem]
    faults = {name: mutants(place.read(path), name) for name in sound}
    orders = [
        {**_mutant_order(place, subjects[name], groups[name], faults[name]), "each": True}
        for name in sound
    ]
    results = run_orders(place, [{**order, "whole": whole} for order in orders], roots)
    for name, result in zip(sound, results, strict=True):
        found[name] = _with_kills(found[name], result, faults[name])
    return found


def _with_kills(proof: Proof, result: Mapping[str, Any] | None, faults: Sequence[Mutant]) -> Proof:
    """Return a proof with the mutants that some test kills, or why they could not be tried."""
    found = result or {}
    if problem := _mutant_problem(result) or ("" if found.get("swapped") else _HIDDEN):
        return msgspec.structs.replace(proof, problem=problem)
    tried = faults[: found.get("tried", 0)]
    dead = {number for _, number, _ in found.get("kills", ())}
    killed = tuple(fault.description for n, fault in enumerate(tried) if n in dead)
    return msgspec.structs.replace(proof, killed=killed, tried=len(tried))


def _run_twice(
    place: ToolTree, path: str, roots: Sequence[str], groups: Sequence[Sequence[str]]
) -> list[list[dict[str, Any]]]:
    """Return the results of each group of tests in two different circumstances."""
    orders = [test_order(place, path, ids, _TESTS_S) for ids in groups]
    with ThreadPoolExecutor(2) as pool:
        run = functools.partial(run_in_child, place, roots, orders)
        runs = [*pool.map(run, CIRCUMSTANCES)]
    return [[results.of(n) or _UNFINISHED for results in runs] for n in range(len(groups))]


def _passing(
    subject: TargetFunction,
    ids: Sequence[str],
    runs: Sequence[dict[str, Any]],
    together: Sequence[dict[str, Any]],
) -> Proof:
    """Return a proof without mutants, with the reason the tests do not pass, if they do not.

    `together` are the results of runs with other tests beside them.
    """
    problems = [problem for result in runs if (problem := _failure_reason(result, ids))]
    effects = [str(effect) for result in runs for effect in result.get("effects") or ()]
    problems += [f"the tests have side effects: {effect}" for effect in effects]
    if not runs[0].get("imported"):
        problems.append(f"the tests do not import {subject.path} of this copy")
    for result in together:
        problems += [
            f"beside other tests, {name}: {test.get('message')}"
            for name, test in (result.get("tests") or {}).items()
            if {name, name.partition("[")[0]} & {*ids} and test.get("outcome") != "passed"
        ]
    if problems:
        return Proof(problem=problems[0][:300])
    return Proof(lines=_lines(subject, runs[0]))


def _failure_reason(result: dict[str, Any], ids: Sequence[str]) -> str:
    tests = result.get("tests")
    tests = tests if isinstance(tests, dict) else {}
    if result.get("problem"):
        return str(result["problem"])[:200]
    for name, test in tests.items():
        if test.get("outcome") != "passed":
            return f"{name}: {test.get('outcome')}: {test.get('message')}"[:300]
    found = {*tests, *(name.partition("[")[0] for name in tests)}  # each row of a table is a test
    missing = [name for name in ids if name not in found]
    if missing:
        errors = result.get("failed") or ["pytest does not find it"]
        return f"{missing[0]}: {errors[0]}"[:300]
    return "" if result.get("code") == 0 else f"pytest ended with {result.get('code')}"


def _lines(subject: TargetFunction, result: dict[str, Any]) -> tuple[int, ...]:
    first, last = subject.function.body[0].lineno, subject.function.end_lineno or 0
    lines = result.get("lines")
    return tuple(n for n in lines if isinstance(n, int) and first <= n <= last) if lines else ()


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
    """Run the tests `ids` that enter the function with each mutant. Without any, all survive.

    Raises HostError if pytest does not start or the function's code cannot be replaced.
    """
    order = _mutant_order(place, subject, ids, faults)
    found = run_in_child(place, [subject.import_root], [order]).of(0)
    if problem := _mutant_problem(found):
        raise HostError(problem)
    found = found or {}
    tests = tuple(found.get("reaching", ()))
    alive = [faults[number] for number in found.get("lines", ()) if number < len(faults)]
    return Survivors(
        mutants=tuple(alive if tests else faults),
        tried=found.get("tried", 0),
        tests=tests,
    )


def _mutant_order(
    place: ToolTree, subject: TargetFunction, ids: Sequence[str], faults: Sequence[Mutant]
) -> Order:
    content, texts = place.read(subject.path), [fault.function for fault in faults]
    order = fault_order(place, subject.path, content, subject.qualname, ids, texts)
    assert order is not None  # the function was found
    return order


def _mutant_problem(result: Mapping[str, Any] | None) -> str:
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

    def is_wanted(kind: str, line: int) -> bool:
        return kind in _DECIDING and (lines is None or line in lines)

    every = mutants(source, qualname, _EVERY, is_wanted=is_wanted)
    found = [fault for kind in _DECIDING for fault in every if fault.kind == kind][:_MOST_FURTHER]
    return sorted(found, key=lambda fault: fault.line)


def further_faults(
    place: ToolTree, function: tuple[str, str], ids: Sequence[str], before: tuple[str, bytes]
) -> int:
    """Return how many mutants tests detect that they did not detect before they were changed.

    `function` is the path and qualname of a function, and `before` the path of the test file and its
    earlier content. Raises HostError like `surviving_mutants`.
    """
    subject = require_target(place, *function)
    path, earlier = before
    now = place.read(path)
    place.write(path, earlier)
    try:
        faults = boundary_faults(place.read(subject.path), subject.qualname)
        alive = surviving_mutants(place, subject, ids, faults).mutants
    finally:
        place.write(path, now)
    if not alive:
        return 0
    again = surviving_mutants(place, subject, ids, alive)
    return again.tried - len(again.mutants)
