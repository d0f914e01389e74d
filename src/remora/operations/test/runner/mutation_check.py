"""Proof that tests pass in different circumstances and that they kill mutants of a function."""

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from remora.errors import HostError
from remora.operations.test.mutants import MAX_MUTANTS, Mutant, mutants
from remora.operations.test.runner.coverage import ObservedRun, observed_run
from remora.operations.test.runner.parent import CIRCUMSTANCES, Order, run_in_child
from remora.operations.test.target_function import TargetFunction, find_target
from remora.tools.tree import ToolTree

PROOF_S = 240.0
"""Time limit of one proof."""
_TESTS_S = 60.0
_MUTANT_S = 15.0
_MUTANT_CPU_S = 2.0
"""Limits of the tests with a mutant, to which the tests' own time is added. Beyond them, the mutant
is detected."""
_AT_ONCE = 3
_CONFIG_FILES = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg")
_IMPORT_MODE = "--import-mode=importlib"


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a proof.

    `problem` is the reason the tests do not pass, or an empty string. `killed` and `survived`
    contain descriptions of mutants. `lines` contains the executed lines of the function, and `seen`
    all executed nodes.
    """

    problem: str = ""
    tests: dict[str, dict[str, Any]] = {}
    killed: tuple[str, ...] = ()
    survived: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    seen: ObservedRun = ObservedRun()

    @property
    def tried(self) -> int:
        return len(self.killed) + len(self.survived)


def prove(
    place: ToolTree, path: str, qualname: str, ids: Sequence[str], *, enough: int = MAX_MUTANTS
) -> Proof:
    """Run the tests twice, and then with mutants until `enough` mutants are killed.

    `ids` contains the pytest ids of the tests. Raises HostError if running the project's code is
    not allowed.
    """
    subject = find_target(path, place.read(path), qualname, place.files.exists)
    if isinstance(subject, str):
        raise HostError(f"{qualname}: {subject}")
    with ThreadPoolExecutor(2) as pool:
        run = functools.partial(run_tests_once, place, subject.path, [subject.import_root], ids)
        runs = list(pool.map(run, (0, 1)))
    for result in runs:
        problem = failure_reason(result, ids)
        if problem:
            return Proof(problem=problem, tests=result.get("tests") or {})
    effects = [str(one) for result in runs for one in result.get("effects") or ()]
    if effects:
        why = f"the tests have side effects: {effects[0]}"
        return Proof(problem=why, tests=runs[0]["tests"])
    if not runs[0].get("imported"):
        return Proof(problem=f"the tests do not import {path} of this copy", tests=runs[0]["tests"])
    killed: list[str] = []
    survived: list[str] = []
    faults = mutants(place.read(path), qualname)
    took = max(sum(test.get("ms") or 0 for test in run["tests"].values()) for run in runs) / 1000
    step = len(faults) if enough >= len(faults) else _AT_ONCE
    for start in range(0, len(faults), max(step, 1)):
        tried = faults[start : start + step]
        dead = _killed(place, subject, ids, tried, took)
        killed += [fault.what for fault in tried if fault in dead]
        survived += [fault.what for fault in tried if fault not in dead]
        if len(killed) >= enough:
            break
    return Proof(
        tests=runs[0]["tests"],
        killed=tuple(killed),
        survived=tuple(survived),
        lines=_lines(subject, runs[0]),
        seen=observed_run(place, runs[0].get("seen") or {}),
    )


def run_tests_once(
    place: ToolTree, path: str, paths: Sequence[str], ids: Sequence[str], under: int = 0
) -> dict[str, Any]:
    """Run the tests once. `lines` in the result contains the executed lines of the file `path`."""
    results = run_in_child(
        place, paths, [test_order(place, path, ids, _TESTS_S)], CIRCUMSTANCES[under]
    )
    return results.of(0) or {"tests": {}, "problem": "the tests did not finish"}


def test_order(place: ToolTree, path: str, ids: Sequence[str], seconds: float) -> Order:
    root = place.seen
    words = [f"--rootdir={root}", *([_IMPORT_MODE] if _by_importlib(place) else [])]
    return {"ids": list(ids), "path": str(root / path), "words": words, "seconds": seconds}


def failure_reason(result: dict[str, Any], ids: Sequence[str]) -> str:
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


def _killed(
    place: ToolTree,
    subject: TargetFunction,
    ids: Sequence[str],
    faults: Sequence[Mutant],
    took: float,
) -> list[Mutant]:
    """Return the mutants for which a test fails or times out. `took` is the time without mutants."""
    plain = test_order(place, subject.path, ids, _MUTANT_S + 5 * took)
    plain["cpu"] = _MUTANT_CPU_S + 2 * took
    orders = [{**plain, "text": fault.text} for fault in faults]
    if not orders:
        return []
    results = run_in_child(place, [subject.import_root], orders)
    outcomes = [results.of(number) for number in range(len(orders))]
    late = [results.is_late(number) for number in range(len(orders))]
    return [
        fault
        for fault, one, slow in zip(faults, outcomes, late, strict=True)
        if slow or (one is not None and bool(failure_reason(one, ids)))
    ]


def _lines(subject: TargetFunction, result: dict[str, Any]) -> tuple[int, ...]:
    first, last = subject.function.body[0].lineno, subject.function.end_lineno or 0
    lines = result.get("lines")
    return tuple(n for n in lines if isinstance(n, int) and first <= n <= last) if lines else ()


def _by_importlib(place: ToolTree) -> bool:
    """Return True if the project configures pytest to import tests with importlib."""
    for name in _CONFIG_FILES:
        if place.files.exists(name) and _IMPORT_MODE.encode() in place.read(name):
            return True
    return False
