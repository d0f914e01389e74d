"""Tests that say with other values what another test of their file says.

    def test_parses_seconds():               def test_parses_many_seconds():
        assert parse("5s") == 5                  assert parse("70s") == 70

The second one runs no branch of the project that the first one does not run, and detects no planted
fault that it does not detect. It must not mention anything of the project's either that the other
one does not mention: with `parse("5m")`, where `m` is a key in the project's code, it would be
another case although the branches are the same. Nor may it fail with the code before the change,
with which the other one passes.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.source import Source, read_source
from remora.ids import split_node_key, unescape_path
from remora.operations.judged_change import Change
from remora.operations.test.judging.circumstances import HERE
from remora.operations.test.judging.planted_faults import entered_functions, faults_detected
from remora.operations.test.judging.test_runs import Outcomes, run_tests
from remora.operations.test.judging.written_test import WrittenTest, tests_in
from remora.operations.test.runner.coverage import ObservedRun
from remora.operations.test.runner.parent import TracedTest
from remora.text import count
from remora.tools.tree import ToolTree

_MOST_OTHERS = 8
"""Other tests whose branches are compared, those that mention least beside (decision)."""
_AT_ONCE = 6
"""Functions in which faults are planted before time is looked at again (decision)."""
_WORD = re.compile(r"[^\W\d]\w{2,}")
"""Words in texts: shorter ones are parts of any text."""

Branches = frozenset[tuple[str, int, int]]


def repeated_tests(
    change: Change,
    tests: Sequence[WrittenTest],
    seen: ObservedRun,
    is_over: Callable[[], bool],
) -> tuple[dict[str, str], list[str]]:
    """Return what makes added tests superfluous by ID, and the tests that there was no time for.

    `seen` are the functions that the tests entered.
    """
    added = [test for test in tests if _is_added(change, test)]
    place, others = change.after, {test.id: _others(change, test, seen) for test in added}
    asked = [test.id for test in added if others[test.id]]
    ids = dict.fromkeys([*asked, *(other.id for test in asked for other in others[test])])
    found, twins, late = dict[str, str](), dict[str, str](), list[str]()
    if not asked:
        return found, late
    outcomes = run_tests(place, [*ids], HERE, traced=True, branching=True)
    for test in asked:
        same = [
            other
            for other in others[test]
            if _branches(outcomes, test) <= _branches(outcomes, other.id)
        ]
        functions = entered_functions(test, seen) if _branches(outcomes, test) else []
        detected = 0
        while same and functions and not is_over():
            chunk, functions = functions[:_AT_ONCE], functions[_AT_ONCE:]
            faults = faults_detected(place, [test, *(other.id for other in same)], chunk)
            detected += len(faults[test])
            same = [other for other in same if faults[test] <= faults[other.id]]
        if same and functions:
            late.append(test)
        elif same and detected:
            words = count(detected, "planted fault")
            why = f"`{same[0].name}` runs all that it runs, and detects the same {words}"
            found[test], twins[test] = why, same[0].id
    detecting = _detecting(change, twins)
    return {test: why for test, why in found.items() if test not in detecting}, late


def _detecting(change: Change, twins: Mapping[str, str]) -> list[str]:
    """Return the tests that fail with the code before the change, unlike those that they repeat.

    The tests after the change are written into the tree before it.
    """
    if not twins:
        return []
    before = ToolTree(change.before.tree, change.after.python)
    for path, file in change.files.items():
        if is_of_tests(path) and file.after is not None:
            write = before.write if before.files.exists(path) else before.create
            write(path, file.after)
    outcomes = run_tests(before, [*dict.fromkeys([*twins, *twins.values()])], HERE)
    return [
        test
        for test, twin in twins.items()
        if outcomes.of(test) != "passed" and outcomes.of(twin) == "passed"
    ]


def _is_added(change: Change, test: WrittenTest) -> bool:
    file = change.files[test.path]
    return test.qualname not in tests_in(test.path, file.before or b"")


def _others(change: Change, test: WrittenTest, seen: ObservedRun) -> list[WrittenTest]:
    """Return the tests before it, or not added, that mention all that a test mentions."""
    words = _project_words(change.after, test, seen)
    if not words:
        return []
    said = _mentioned(test, words)
    fit = list[tuple[int, WrittenTest]]()
    for other in tests_in(test.path, change.files[test.path].after or b"").values():
        is_older = other.line < test.line or not _is_added(change, other)
        beside = _mentioned(other, words)
        if other.id != test.id and is_older and said <= beside:
            fit.append((len(beside - said), other))
    return [other for _, other in sorted(fit, key=lambda pair: pair[0])[:_MOST_OTHERS]]


def _project_words(place: ToolTree, test: WrittenTest, seen: ObservedRun) -> frozenset[str]:
    """Return the names, parameters and text values in the files with functions that a test runs."""
    words = set[str]()
    for key in entered_functions(test.id, seen):
        path = unescape_path(split_node_key(key)[0])
        source = read_source(path, place.read(path))
        if isinstance(source, Source):
            words.update(_words(source.tree))
    return frozenset(words)


def _words(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Constant(value=str(value)):
                yield value


def _mentioned(test: WrittenTest, words: frozenset[str]) -> set[str]:
    """Return the project's words in a test, its fixtures, and the attributes of its class."""
    function = test.function
    said = {f"fixture {argument.arg}" for argument in function.args.args}
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if not name.startswith("assert"):
                    said.add(f"self.{name}")
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.Name(id=name):
                said |= {name} & words
            case ast.Constant(value=str(value)):
                said |= {value, *_WORD.findall(value)} & words
    return said


def _branches(outcomes: Outcomes, test: str) -> Branches:
    """Return the branches of the project's code that a test runs, with all of its parameters."""
    rows = (each for name, each in outcomes.seen.items() if name.partition("[")[0] == test)
    traced = [msgspec.convert(row, TracedTest) for row in rows]
    return frozenset(
        branch for row in traced for branch in row.branches if not is_of_tests(branch[0])
    )
