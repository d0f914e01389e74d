"""Host functions that run code, and that write tests of a function."""

import ast
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from remora.code.edit.text_lines import Text
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.judges.calls.project_examples import ProjectExamples
from remora.judges.calls.target_function import TargetFunction, import_name, require_target
from remora.judges.faults.mutants import Mutant, mutants
from remora.judges.lint.new_findings import new_findings
from remora.judges.runner.parent import run_in_child
from remora.judges.tests.mutation_check import prove
from remora.judges.tests.surviving_mutants import surviving_mutants
from remora.judges.tests.tested_names import NodesWithTests, test_files
from remora.operations.test.file_tests import restorer, tests_by_function
from remora.operations.test.function_plan import line_counts
from remora.operations.test.insert.added_tests import added_tests
from remora.operations.test.insert.merge_patches import without_functions
from remora.operations.test.insert.test_file import insert_tests, text_before
from remora.operations.test.insert.written_tests import written_tests
from remora.operations.test.insert_location import InsertLocation
from remora.operations.test.test_home import home_of
from remora.tools.tree import ToolTree

MAX_TESTS = 4
"""Number of tests of a function."""
_MOST_OTHERS = 40
_MOST_SHOWN = 10
_RUN_S = 10.0


def run_code(place: ToolTree, path: str, code: str) -> dict[str, str]:
    """Run statements in the namespace of a module, in isolation. Nothing that they do stays.

    The result contains the `value` of the last statement if it is an expression, what was
    `printed`, and the exception in `raised`. If the code did not run, the result contains only the
    reason, in `problem`.
    """
    tree = parse_text(code)
    if not isinstance(tree, ast.Module):
        return {"problem": f"the code is not Python: {tree}"}
    root, module = import_name(path, place.files.exists)
    order = {"code": code, "module": module, "path": str(place.seen / path), "seconds": _RUN_S}
    try:
        results = run_in_child(place, [root], [order])
    except HostError as error:
        return {"problem": error.message}
    if results.is_late(0):
        return {"problem": f"it takes longer than {_RUN_S:.0f} seconds"}
    if (found := results.of(0)) is None:
        return {"problem": "it ends the process"}
    if found.get("problem"):
        return {"problem": str(found["problem"]).replace(f"{place.seen}/", "")}
    return {key: str(found.get(key, "")) for key in ("value", "printed", "raised")}


def write_test(
    place: ToolTree,
    path: str,
    node: str,
    code: str,
    kept: list[str],
    replaced: list[str],
) -> dict[str, Any]:
    """Add the tests in `code`, which a model wrote, to the test file of a function.

    `kept` contains the names of other new tests of the function, and `replaced` those of functions
    to remove first. Names that the function's module defines are imported. The tests run twice in
    different circumstances, and with planted faults.

    The result contains the `path` of the file, the names of the `tests` and of all new `functions`,
    and what the tests are worth. `mutants` counts the planted faults that no other test detects:
    `killed` of them are detected, as described in `found`, and `left` describes the others. `lines`
    of `all_lines` of the function were executed. If nothing is written, the result contains only the
    reason, in `problem`.
    """
    try:
        subject = require_target(place, path, node)
        home = home_of(place, subject, test_files(place))
        restore = restorer(place, home.path)
        try:
            return _written(place, subject, home, code, kept, replaced)
        except HostError:
            restore()
            raise
    except HostError as error:
        return {"problem": error.message}


def _without(place: ToolTree, home: InsertLocation, names: Sequence[str]) -> Text:
    text = text_before(place, home)
    return text._replace(body=without_functions(text.body, names)) if names else text


def _written(
    place: ToolTree,
    subject: TargetFunction,
    home: InsertLocation,
    code: str,
    kept: Sequence[str],
    replaced: Sequence[str],
) -> dict[str, Any]:
    written = written_tests(code, home)
    if len(kept) + len(written.tests) > MAX_TESTS:
        there = f", and {len(kept)} are there already" if kept else ""
        raise HostError(f"a function gets at most {MAX_TESTS} tests{there}")
    before = _without(place, home, replaced)
    insert_tests(place, subject, home, before, written)
    after = place.read(home.path)
    problem = added_tests(home.path, before.bytes() if home.exists else None, after)
    if isinstance(problem, str):
        raise HostError(problem)
    wrong = place.ruff.check_names(home.path, after)
    if wrong and (new := new_findings(place.ruff.check_names(home.path, before.bytes()), wrong)):
        raise HostError(f"{home.path}: {new[0]['message']}")
    used = tests_by_function(after, written.tests, [subject.qualname], home.path)
    for name in written.tests:
        if name not in used.get(subject.qualname, ()):
            raise HostError(f"{name} does not use {subject.qualname}")
    return {
        "path": home.path,
        "tests": written.tests,
        "functions": written.names,
        **_measured(place, subject, home, [*kept, *written.tests]),
    }


def _measured(
    place: ToolTree, subject: TargetFunction, home: InsertLocation, names: Sequence[str]
) -> dict[str, Any]:
    """Return what tests are worth. Raises HostError if they fail or detect no planted fault."""
    ids = [f"{home.path}::{name.replace('.', '::')}" for name in names]
    faults = mutants(place.read(subject.path), subject.qualname)
    others = [test for test in tests_reaching(place, subject) if test not in ids]
    with ThreadPoolExecutor(2) as pool:
        own = pool.submit(prove, place, subject.path, subject.qualname, ids)
        missed = pool.submit(surviving_faults, place, subject, others, faults)
    proof, texts = own.result(), [fault.description for fault in missed.result()]
    if proof.problem:
        raise HostError(proof.problem)
    if not proof.killed:
        raise HostError(f"the test detects none of {len(faults)} faults in {subject.qualname}")
    found = [text for text in texts if text in proof.killed]
    return {
        "killed": len(found),
        "mutants": len(texts),
        "found": found[:_MOST_SHOWN],
        "left": [text for text in texts if text not in found][:_MOST_SHOWN],
        **line_counts(subject, proof.lines),
    }


def tests_reaching(place: ToolTree, subject: TargetFunction) -> list[str]:
    """Return the pytest ids of tests that mention the function, or else of those that reach it."""
    key = node_key(escape_path(subject.path), subject.qualname)
    found = ProjectExamples(place).tests_of(subject) or NodesWithTests(place).tests_of(key)
    return list(found)[:_MOST_OTHERS]


def surviving_faults(
    place: ToolTree, subject: TargetFunction, ids: Sequence[str], faults: Sequence[Mutant]
) -> Sequence[Mutant]:
    """Return the faults that tests do not detect, or all if that cannot be known."""
    try:
        return surviving_mutants(place, subject, ids, faults).mutants if ids else faults
    except HostError:  # such as a decorator that hides the function's code
        return faults
