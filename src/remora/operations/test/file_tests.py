"""Host function that writes the tests of a module's functions into one test file."""

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remora.code.edit.import_edits import imported_names
from remora.code.edit.text_lines import decode
from remora.code.pytest_model.test_functions import functions_of, tests_of
from remora.code.pytest_model.used_names import reached_names, used_names
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.judges.calls.case import Case
from remora.judges.calls.project_examples import ProjectExamples
from remora.judges.calls.target_function import require_target
from remora.judges.tests.mutation_check import prove_together
from remora.judges.tests.tested_names import test_files
from remora.operations.test.assertions import example_test
from remora.operations.test.function_plan import FunctionPlan, plan_missing
from remora.operations.test.further_plan import plan_further
from remora.operations.test.insert.further_cases import FurtherCase
from remora.operations.test.insert.new_file import package_of
from remora.operations.test.insert.test_file import (
    insert_tests,
    own_imports,
    text_before,
    write_further,
)
from remora.operations.test.insert.written_tests import written_tests
from remora.operations.test.test_home import home_of
from remora.python_text import parse
from remora.tools.tree import ToolTree

_FUNCTION_S = 150.0
_RESERVED_S = 120.0
"""Seconds that are left for running the written tests."""
_LATER = "left for the next run"
_MOST_PLANNED = 25
"""Number of functions of a file that get tests in one run."""


def write_tests(
    place: ToolTree, path: str, nodes: list[str], missed: dict[str, list[int]]
) -> dict[str, Any]:
    """Write tests of some functions of a file into one test file.

    `nodes` contains their qualnames. Each function gets a test of the calls that documentation
    shows with their results. Those in `missed` have tests that miss faults on some of their lines,
    and these get further cases. At most 25 functions get tests. The tests then run together, and what fails or detects no mutant is removed.

    The result contains the `path` of the test file, or an empty string; the `ids` of all tests that
    were written or extended; in `tests` the ids of the new ones of each function; the names of
    existing ones that were `extended`; the reason that a function has none in `reasons`; those of
    them for which a model may know calls in `open`, at most 25; the counts `killed`, `mutants`,
    `lines` and `all_lines` of each tested function in `worth`; and in `wrong` the examples that
    show another result than the code gives.
    """
    tried = _plans(place, path, nodes, missed)
    plans = {name: plan for name, plan in tried.items() if plan.cases or plan.further}
    reasons = {name: plan.reason for name, plan in tried.items() if name not in plans}
    paths = _paths(place, path, plans)
    home = next(iter(paths.values()), "")
    reasons |= {name: _LATER for name in plans if paths[name] != home}
    plans = {name: plan for name, plan in plans.items() if paths[name] == home}
    written: dict[str, dict[str, Any]] = {}
    while plans:
        restore = restorer(place, home)
        written, problems = _write(place, path, plans)
        problems |= _unproved(
            place, path, {name: result["ids"] for name, result in written.items()}
        )
        if not problems:
            break
        restore()
        reasons |= problems
        written = {}
        plans = {name: plan for name, plan in plans.items() if name not in problems}
    return {
        "path": next((result["path"] for result in written.values()), ""),
        "tests": {
            name: [] if plans[name].further else result["ids"] for name, result in written.items()
        },
        "ids": [test for result in written.values() for test in result["ids"]],
        "extended": [
            *dict.fromkeys(case.like.test for name in written for case in plans[name].further)
        ],
        "reasons": reasons,
        "open": [name for name in reasons if tried[name].can_continue][:_MOST_PLANNED],
        "worth": {name: dict(plan.worth) for name, plan in plans.items()},
        "wrong": [f"{name}: {example}" for name, plan in tried.items() for example in plan.wrong],
    }


def _plans(
    place: ToolTree, path: str, nodes: Sequence[str], missed: Mapping[str, Sequence[int]]
) -> dict[str, FunctionPlan]:
    examples = ProjectExamples(place)
    found: dict[str, FunctionPlan] = {}
    for node in nodes:
        planned = sum(bool(plan.cases or plan.further) for plan in found.values())
        if planned >= _MOST_PLANNED or place.left() < _RESERVED_S:
            found[node] = FunctionPlan(reason=_LATER)
            continue
        try:
            with place.within(_FUNCTION_S):
                found[node] = (
                    plan_further(place, path, node, examples, missed[node])
                    if node in missed
                    else plan_missing(place, path, node, examples)
                )
        except HostError as error:
            found[node] = FunctionPlan(reason=error.message)
    return found


def _paths(place: ToolTree, path: str, plans: Mapping[str, FunctionPlan]) -> dict[str, str]:
    """Return the test file of each function. Further cases go into that of the existing ones."""
    tests, found = test_files(place), dict[str, str]()
    for node, plan in plans.items():
        subject = require_target(place, path, node)
        at = plan.further[0].like.path if plan.further else ""
        found[node] = at or home_of(place, subject, tests).path
    return found


def restorer(place: ToolTree, path: str) -> Callable[[], None]:
    """Return a function that restores the current content of a test file, or removes new files."""
    before = place.read(path) if place.files.exists(path) else None
    new = [file for file in (path, package_of(path)) if not place.files.exists(file)]

    def restore() -> None:
        if before is not None:
            place.write(path, before)
        for file in new:
            if place.files.exists(file):
                place.files.remove(file)

    return restore


def _write(
    place: ToolTree, path: str, plans: Mapping[str, FunctionPlan]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return what was written for each function, and the reasons for which it was not.

    Further cases come first, because their places are those in the file as it was.
    """
    written, problems = _write_further(
        place, path, {name: plan.further for name, plan in plans.items() if plan.further}
    )
    for node, plan in plans.items():
        try:
            if plan.cases:
                written[node] = write_examples(place, path, node, plan.cases)
        except HostError as error:
            problems[node] = error.message
    return written, problems


def write_examples(place: ToolTree, path: str, node: str, cases: Sequence[Case]) -> dict[str, Any]:
    """Write a test of a function that repeats examples with their results.

    The test file is chosen according to the project's conventions.

    Return the `path` of the file, and the `ids` of the tests. Raises HostError, without writing
    anything, if the file would have new findings or names would conflict.
    """
    subject = require_target(place, path, node)
    home = home_of(place, subject, test_files(place))
    before = text_before(place, home)
    tree = parse_text(before.body)
    is_taken = isinstance(tree, ast.Module) and home.test_name in tests_of(tree)
    name = f"{home.test_name}{'_examples' if is_taken else ''}"
    own = own_imports(subject, home)
    imports = [
        imported
        for case in cases
        for text in case.imports
        for imported in imported_names(parse(text))
        if imported.bound not in own
    ]
    lines = [imported.statement() for imported in dict.fromkeys(imports)]
    code = "\n".join([*lines, example_test(name, cases, home)])
    insert_tests(place, subject, home, before, written_tests(code, home))
    return {"path": home.path, "ids": [f"{home.path}::{name}"]}


def _write_further(
    place: ToolTree, path: str, further: Mapping[str, Sequence[FurtherCase]]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Write further cases, and return the same as `_write`. Each function is tried alone, too."""
    if not further:
        return {}, {}
    subject = require_target(place, path, next(iter(further)))
    at = further[next(iter(further))][0].like.path
    home = home_of(place, subject, test_files(place), at)
    try:
        write_further(place, home, [case for cases in further.values() for case in cases])
    except HostError as error:
        if len(further) == 1:
            return {}, dict.fromkeys(further, error.message)
        problems: dict[str, str] = {}
        for node, cases in further.items():
            restore = restorer(place, home.path)
            problems |= _write_further(place, path, {node: cases})[1]
            restore()
        return {}, problems or dict.fromkeys(further, error.message)
    ids = {
        node: [
            *dict.fromkeys(f"{home.path}::{case.like.test.replace('.', '::')}" for case in cases)
        ]
        for node, cases in further.items()
    }
    return {node: {"path": home.path, "ids": own} for node, own in ids.items()}, {}


def _unproved(place: ToolTree, path: str, ids: Mapping[str, list[str]]) -> dict[str, str]:
    """Return why the tests of a function fail, or that they detect no mutant."""
    proofs = prove_together(place, path, ids) if ids else {}
    found = {}
    for node, proof in proofs.items():
        if proof.problem or not proof.killed:
            found[node] = proof.problem or "its test detects no planted fault"
    return found


def _used_by(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function mentions, and those of the fixtures that it gets."""
    return used_names(function) | {argument.arg for argument in function.args.args}


def tests_by_function(
    content: bytes, names: Sequence[str], nodes: Sequence[str], path: str
) -> dict[str, list[str]]:
    """Return the tests that mention each function, themselves or in functions that they use.

    `names` are qualnames of tests in `content`.
    Of methods with the same name, the one whose class the test mentions counts.
    """
    tree = parse_text(decode(path, content).body)
    functions = functions_of(tree) if isinstance(tree, ast.Module) else {}
    uses = {name: _used_by(function) for name, function in functions.items()}
    used = {name: reached_names([name], uses) for name in names if name in functions}
    methods = Counter(node.rpartition(".")[2] for node in nodes)
    found: dict[str, list[str]] = {}
    for node in nodes:
        owner, _, last = node.rpartition(".")
        wanted = {last, owner} if owner and methods[last] > 1 else {last}
        found[node] = [name for name, words in used.items() if wanted <= words]
    return {node: own for node, own in found.items() if own}
