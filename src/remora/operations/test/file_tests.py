"""Host function that writes the tests of a module's functions into one test file."""

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remora.code.edit.text_lines import decode
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.operations.test.function_context import target_at
from remora.operations.test.host_probe import (
    Cause,
    ProjectTexts,
    plan_further,
    plan_missing,
    project_texts,
)
from remora.operations.test.host_write import LintRefusal, share_preparation, write_test
from remora.operations.test.insert.new_file import package_of
from remora.operations.test.insert.shared_fixtures import fixtures_in
from remora.operations.test.runner.mutation_check import prove_together
from remora.operations.test.source_blocks import tests_of, used_names
from remora.tools.tree import ToolTree

MEASUREMENTS = ("killed", "mutants", "lines", "all_lines")
_FUNCTION_S = 150.0
_RESERVED_S = 120.0
"""Seconds that are left for running the written tests."""
_LATER = "left for the next run"
MOST_TRIED = 40
_MOST_PLANNED = 25
"""Numbers of functions of a file that are tried, and that get tests, in one run."""
_Plans = dict[str, dict[str, Any]]


def write_tests(
    place: ToolTree, path: str, nodes: list[str], strengthen: bool = False
) -> dict[str, Any]:
    """Write tests of some functions of a file into one test file.

    `nodes` contains their qualnames. Each function is tried like `test_plan` does, or like
    `strengthen_plan` if `strengthen` is true. Those that most examples call come first, and at most
    25 get tests. The tests then run together, and tests that fail or detect no mutant are removed.

    The result contains the `path` of the test file, or an empty string; the `ids` of the new tests,
    and those of each function in `tests`; the reason that a function has none in `reasons`; the
    functions for which a writer may know better calls in `open`, at most 25; and the sums of
    `killed`, `mutants`, `lines` and `all_lines` in `worth`. A writer is also asked about functions
    whose tests a lint rule refuses.
    """
    plans, reasons, unsure = _plans(
        place, path, nodes, plan_further if strengthen else plan_missing
    )
    written: dict[str, dict[str, Any]] = {}
    while plans:
        home = next(iter(plans.values()))["path"]
        is_new = not place.files.exists(home)
        restore = _restorer(place, home)
        written, problems, refused = _write(place, path, plans)
        unsure |= refused
        ids = {name: each["ids"] for name, each in written.items()}
        is_shared = is_new and not problems and _is_shared(place, path, home, ids)
        problems |= {} if is_shared else _unproved(place, path, ids)
        if not problems:
            break
        restore()
        reasons |= problems
        written = {}
        plans = {name: plan for name, plan in plans.items() if name not in problems}
    worth = Counter[str]()
    for plan in plans.values():
        worth.update({key: plan[key] for key in MEASUREMENTS})
    return {
        "path": next((each["path"] for each in written.values()), ""),
        "tests": {name: each["ids"] for name, each in written.items()},
        "ids": [one for each in written.values() for one in each["ids"]],
        "reasons": {name: reasons[name] for name in nodes if name in reasons},
        "open": [
            name
            for name in nodes
            if name in unsure
            or (name in plans and not strengthen and plans[name]["killed"] < plans[name]["mutants"])
        ][:_MOST_PLANNED],
        "worth": dict(worth),
    }


def _plans(
    place: ToolTree,
    path: str,
    nodes: Sequence[str],
    plan_of: Callable[[ToolTree, str, str, ProjectTexts], dict[str, Any]],
) -> tuple[_Plans, dict[str, str], set[str]]:
    """Return the plans of the functions for which a test can be written.

    Also return the reasons of the others, and the functions that other calls may change.
    """
    plans: _Plans = {}
    reasons: dict[str, str] = {}
    unsure: set[str] = set()
    texts = project_texts(place)
    for number, node in enumerate(_promising_first(place, path, nodes, texts)):
        is_full = number >= MOST_TRIED or len(plans) >= _MOST_PLANNED
        if is_full or place.left() < _RESERVED_S:
            reasons[node] = _LATER
            continue
        try:
            with place.within(_FUNCTION_S):
                plan = plan_of(place, path, node, texts)
        except HostError as error:
            reasons[node] = error.message
            continue
        if plan["state"] == "open":
            plans[node] = plan
        else:
            reasons[node] = str(plan["reason"])
            if Cause(plan["cause"]).may_need_writer:
                unsure.add(node)
    return {node: plans[node] for node in nodes if node in plans}, reasons, unsure


def _promising_first(
    place: ToolTree, path: str, nodes: Sequence[str], texts: ProjectTexts
) -> Sequence[str]:
    """Return the functions in the order in which they are tried, if there are too many of them."""
    if len(nodes) <= _MOST_PLANNED:
        return nodes

    def shown(node: str) -> int:
        subject = target_at(place, path, node)
        return 0 if isinstance(subject, str) else len(texts.examples.calls_of(subject))

    return sorted(nodes, key=shown, reverse=True)


def _restorer(place: ToolTree, path: str) -> Callable[[], None]:
    """Return a function that restores the current content of a test file, or removes new files."""
    before = place.read(path) if place.files.exists(path) else None
    new = [each for each in (path, package_of(path)) if not place.files.exists(each)]

    def restore() -> None:
        if before is not None:
            place.write(path, before)
        for each in new:
            if place.files.exists(each):
                place.files.remove(each)

    return restore


def _write(
    place: ToolTree, path: str, plans: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], dict[str, str], set[str]]:
    """Return what was written for each function, and the reasons for which it was not.

    Also return the functions whose tests a lint rule refuses.
    """
    written: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    refused: set[str] = set()
    for node, plan in plans.items():
        try:
            written[node] = write_test(place, path, node, plan["cases"])
        except HostError as error:
            problems[node] = error.message
            if isinstance(error, LintRefusal):
                refused.add(node)
    return written, problems, refused


def _is_shared(place: ToolTree, path: str, home: str, ids: Mapping[str, list[str]]) -> bool:
    """Return True if the tests of a new file were proved with a fixture for their preparation.

    The file at `home` stays as it is otherwise.
    """
    before = place.read(home)
    share_preparation(place, path, next(iter(ids)))
    if place.read(home) == before:
        return False
    if not _unproved(place, path, ids):
        return True
    place.write(home, before)
    return False


def _unproved(place: ToolTree, path: str, ids: Mapping[str, list[str]]) -> dict[str, str]:
    """Return why the tests of a function fail, or that they detect no mutant."""
    proofs = prove_together(place, path, ids, enough=1) if ids else {}
    found = {}
    for node, proof in proofs.items():
        if proof.problem or not proof.killed:
            found[node] = proof.problem or "its test detects no planted fault"
    return found


def tests_by_function(
    content: bytes, names: Sequence[str], nodes: Sequence[str], path: str
) -> dict[str, list[str]]:
    """Return the tests that mention each function. `names` are qualnames of tests in `content`.

    Of methods with the same name, the one whose class the test mentions counts.
    """
    tree = parse_text(decode(path, content).body)
    tests = tests_of(tree) if isinstance(tree, ast.Module) else {}
    fixtures = fixtures_in(tree) if isinstance(tree, ast.Module) else {}
    used = {
        name: used_names(tests[name]).union(
            *(used_names(fixtures[arg.arg]) for arg in tests[name].args.args if arg.arg in fixtures)
        )
        for name in names
        if name in tests
    }
    methods = Counter(node.rpartition(".")[2] for node in nodes)
    found: dict[str, list[str]] = {}
    for node in nodes:
        owner, _, last = node.rpartition(".")
        wanted = {last, owner} if owner and methods[last] > 1 else {last}
        found[node] = [name for name, words in used.items() if wanted <= words]
    return {node: own for node, own in found.items() if own}
