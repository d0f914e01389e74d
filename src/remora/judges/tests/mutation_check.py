"""Proof that tests pass in different circumstances and kill mutants of a function."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from remora.judges.calls.target_function import TargetFunction, require_target
from remora.judges.faults.mutants import Mutant, mutants
from remora.judges.runner.orders import run_orders, test_order
from remora.judges.runner.parent import run_repeatedly
from remora.judges.tests.surviving_mutants import mutant_order, mutant_problem
from remora.tools.tree import ToolTree

PROOF_S = 240.0
"""Time limit of one proof (decision)."""
_TESTS_S = 60.0
"""Time limit of one run of a group of tests (decision)."""
_HIDDEN = "a decorator hides the function's code, so no fault can be planted in it"
_UNFINISHED: dict[str, Any] = {"tests": {}, "problem": "the tests did not finish"}


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
    all_ids = [*dict.fromkeys(test for ids in groups.values() for test in ids)]
    runs = _run_again(
        place, path, roots, [*groups.values(), *([all_ids] if len(groups) > 1 else ())]
    )
    proofs = {
        name: _passing(subjects[name], ids, runs[number], runs[-1])
        for number, (name, ids) in enumerate(groups.items())
    }
    sound = [name for name, proof in proofs.items() if not proof.problem]
    faults = {name: mutants(place.read(path), name) for name in sound}
    orders = [
        {**mutant_order(place, subjects[name], groups[name], faults[name]), "each": True}
        for name in sound
    ]
    results = run_orders(place, [{**order, "whole": whole} for order in orders], roots)
    for name, result in zip(sound, results, strict=True):
        proofs[name] = _with_kills(proofs[name], result, faults[name])
    return proofs


def _with_kills(proof: Proof, result: Mapping[str, Any] | None, faults: Sequence[Mutant]) -> Proof:
    """Return a proof with the mutants that some test kills, or why they could not be tried."""
    run = result or {}
    if problem := mutant_problem(result) or ("" if run.get("swapped") else _HIDDEN):
        return msgspec.structs.replace(proof, problem=problem)
    tried = faults[: run.get("tried", 0)]
    dead = {number for _, number, _ in run.get("kills", ())}
    killed = tuple(fault.description for n, fault in enumerate(tried) if n in dead)
    return msgspec.structs.replace(proof, killed=killed, tried=len(tried))


def _run_again(
    place: ToolTree, path: str, roots: Sequence[str], groups: Sequence[Sequence[str]]
) -> list[list[dict[str, Any]]]:
    """Return the results of each group of tests in two different circumstances.

    If the tests use sets, these are more, with other hash seeds.
    """
    orders = [test_order(place, path, ids, _TESTS_S) for ids in groups]
    runs = run_repeatedly(place, roots, orders)
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
    ran = {*tests, *(name.partition("[")[0] for name in tests)}  # each row of a table is a test
    missing = [name for name in ids if name not in ran]
    if missing:
        errors = result.get("failed") or ["pytest does not find it"]
        return f"{missing[0]}: {errors[0]}"[:300]
    return "" if result.get("code") == 0 else f"pytest ended with {result.get('code')}"


def _lines(subject: TargetFunction, result: dict[str, Any]) -> tuple[int, ...]:
    first, last = subject.function.body[0].lineno, subject.function.end_lineno or 0
    lines = result.get("lines")
    return tuple(n for n in lines if isinstance(n, int) and first <= n <= last) if lines else ()
