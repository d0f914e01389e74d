"""Proof that tests pass in different circumstances, and the mutants of a function that they kill."""

import functools
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from remora.errors import HostError
from remora.operations.test.fault_kinds import CONDITION
from remora.operations.test.mutants import MAX_MUTANTS, Mutant, mutants, probe
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
_AT_ONCE = 4
_DECIDING = (
    "comparison True", "comparison False", "boundary", "boundary below", CONDITION, "and or", "not",
    "choice", "option",
)  # fmt: skip
"""Kinds of faults that a boundary may tell apart from the code, the closest first."""
_EVERY = 400
_MOST_FURTHER = 40
"""Mutants with which tests with further cases run. Of 20 of all kinds, 4 are of comparisons."""
_CONFIG_FILES = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg")
_IMPORT_MODE = "--import-mode=importlib"


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a proof.

    `problem` is the reason the tests do not pass, or an empty string. `killed` and `survived`
    contain descriptions of mutants. `lines` contains the executed lines of the function.
    """

    problem: str = ""
    tests: dict[str, dict[str, Any]] = {}
    killed: tuple[str, ...] = ()
    survived: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()

    @property
    def tried(self) -> int:
        return len(self.killed) + len(self.survived)


def prove(place: ToolTree, path: str, qualname: str, ids: Sequence[str]) -> Proof:
    """Run the tests twice, and then with mutants.

    `ids` contains the pytest ids of the tests. Raises HostError if running the project's code is
    not allowed.
    """
    return prove_together(place, path, {qualname: ids})[qualname]


def prove_together(
    place: ToolTree, path: str, groups: Mapping[str, Sequence[str]], *, enough: int = MAX_MUTANTS
) -> dict[str, Proof]:
    """Prove the tests of several functions of a file like `prove`, in fewer processes.

    `groups` maps the qualname of each function to the pytest ids of its tests. If some do not pass,
    those of each function are run again on their own; tests that fail only beside others do not
    pass.
    """
    subjects = {name: _subject(place, path, name) for name in groups}
    together = list(dict.fromkeys(each for ids in groups.values() for each in ids))
    runs = _run_twice(place, next(iter(subjects.values())), together)
    found = {name: _passing(path, runs, ids) for name, ids in groups.items()}
    if len(groups) > 1 and (
        any(result.get("problem") or result.get("effects") for result in runs)
        or any(proof.problem for proof in found.values())
    ):
        apart = [
            prove_together(place, path, {name: groups[name]}, enough=enough) for name in groups
        ]
        proofs = {name: proof for each in apart for name, proof in each.items()}
        return {
            name: Proof(problem=f"beside other tests, {found[name].problem}", tests=proof.tests)
            if any(_has_failed(result, groups[name]) for result in runs) and not proof.problem
            else proof
            for name, proof in proofs.items()
        }
    if all(proof.problem for proof in found.values()):
        return found
    sound = {name: subjects[name] for name, proof in found.items() if not proof.problem}
    for name, (killed, survived) in _killed_of_each(place, sound, groups, runs, enough).items():
        found[name] = msgspec.structs.replace(
            found[name],
            killed=tuple(killed),
            survived=tuple(survived),
            lines=_lines(subjects[name], runs[0]),
        )
    return found


def prove_passing(place: ToolTree, subject: TargetFunction, ids: Sequence[str]) -> Proof:
    """Run the tests of a function twice like `prove`, but not with mutants."""
    runs = _run_twice(place, subject, ids)
    proof = _passing(subject.path, runs, ids)
    return msgspec.structs.replace(proof, lines=_lines(subject, runs[0]))


def _run_twice(
    place: ToolTree, subject: TargetFunction, ids: Sequence[str]
) -> list[dict[str, Any]]:
    """Run tests in two different circumstances."""
    with ThreadPoolExecutor(2) as pool:
        run = functools.partial(run_tests_once, place, subject.path, [subject.import_root], ids)
        return list(pool.map(run, (0, 1)))


def _subject(place: ToolTree, path: str, qualname: str) -> TargetFunction:
    subject = find_target(path, place.read(path), qualname, place.files.exists)
    if isinstance(subject, str):
        raise HostError(f"{qualname}: {subject}")
    return subject


def _passing(path: str, runs: Sequence[dict[str, Any]], ids: Sequence[str]) -> Proof:
    """Return a proof without mutants, with the reason the tests do not pass, if they do not."""
    for result in runs:
        own = _only(result, ids)
        problem = failure_reason(own, ids)
        if problem:
            return Proof(problem=problem, tests=own.get("tests") or {})
    effects = [str(one) for result in runs for one in result.get("effects") or ()]
    tests = _only(runs[0], ids)["tests"]
    if effects:
        return Proof(problem=f"the tests have side effects: {effects[0]}", tests=tests)
    if not runs[0].get("imported"):
        return Proof(problem=f"the tests do not import {path} of this copy", tests=tests)
    return Proof(tests=tests)


def _has_failed(result: dict[str, Any], ids: Sequence[str]) -> bool:
    return any(test.get("outcome") != "passed" for test in _only(result, ids)["tests"].values())


def _only(result: dict[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return the result of a run, with only some of its tests. A row of a table is a test."""
    tests = result.get("tests")
    tests = tests if isinstance(tests, dict) else {}
    own = {name: test for name, test in tests.items() if {name, name.partition("[")[0]} & {*ids}}
    others = len(own) < len(tests)
    code = 0 if others and all(each.get("outcome") == "passed" for each in own.values()) else None
    return {**result, "tests": own} | ({"code": code} if code is not None else {})


def _killed_of_each(
    place: ToolTree,
    subjects: Mapping[str, TargetFunction],
    groups: Mapping[str, Sequence[str]],
    runs: Sequence[dict[str, Any]],
    enough: int,
) -> dict[str, tuple[list[str], list[str]]]:
    """Return descriptions of the killed and of the surviving mutants of each function.

    Mutants of a function are tried until enough are killed, the first one alone, because it usually
    is.
    """
    found: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in subjects}
    faults = {name: mutants(place.read(subject.path), name) for name, subject in subjects.items()}
    took = max(sum(test.get("ms") or 0 for test in run["tests"].values()) for run in runs) / 1000
    most = max(map(len, faults.values()), default=0)
    start, step = 0, most if enough >= most else 1
    while start < most:
        tried = [
            (name, fault)
            for name in subjects
            if len(found[name][0]) < enough
            for fault in faults[name][start : start + step]
        ]
        dead = _killed(place, subjects, groups, tried, took)
        for number, (name, fault) in enumerate(tried):
            found[name][0 if number in dead else 1].append(fault.description)
        start, step = start + step, max(step, _AT_ONCE)
    return found


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
    arguments = [f"./{each}" if each.startswith("-") else each for each in ids]
    return {"ids": arguments, "path": str(root / path), "words": words, "seconds": seconds}


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
    subjects: Mapping[str, TargetFunction],
    groups: Mapping[str, Sequence[str]],
    faults: Sequence[tuple[str, Mutant]],
    took: float,
) -> set[int]:
    """Return the indexes of the mutants for which a test fails or times out.

    `faults` contains the qualname of the function of each mutant. `took` is the time without
    mutants.
    """
    orders = []
    for name, fault in faults:
        subject = subjects[name]
        order = test_order(place, subject.path, groups[name], _MUTANT_S + 5 * took)
        orders.append({**order, "cpu": _MUTANT_CPU_S + 2 * took, "text": fault.text})
    if not orders:
        return set()
    results = run_in_child(place, [next(iter(subjects.values())).import_root], orders)
    dead = set[int]()
    for number, (name, _) in enumerate(faults):
        one = results.of(number)
        if results.is_late(number) or (one is not None and failure_reason(one, groups[name])):
            dead.add(number)
    return dead


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
    order = test_order(place, subject.path, ids, _TESTS_S)
    order |= {"mutants": [fault.function for fault in faults], "qualname": subject.qualname}
    order["header"] = subject.header
    order["probe"] = probe(place.read(subject.path), subject.qualname)
    results = run_in_child(place, [subject.import_root], [order])
    found = results.of(0)
    if found is None or found.get("problem"):
        raise HostError(str((found or {}).get("problem") or "the tests did not finish in time"))
    tests = tuple(found.get("reaching", ()))
    if tests and not found.get("swapped"):
        raise HostError("a decorator hides the function's code, so mutants cannot be tried")
    alive = [faults[number] for number in found.get("lines", ()) if number < len(faults)]
    return Survivors(
        mutants=tuple(alive if tests else faults),
        tried=found.get("tried", 0),
        tests=tests,
    )


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
    subject = _subject(place, *function)
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
