"""Tests that claim what another test of their file claims, with the same values or with others.

    def test_length():                       def test_length_of_two():
        assert len(Cart("a", "b")) == 2          cart = Cart("a", "b")
                                                 assert 2 == len(cart)

The second one is a duplicate of the first: with the same fixtures and parameters, all its claims are
among those of the other test.

    def test_parses_seconds():               def test_parses_many_seconds():
        assert parse("5s") == 5                  assert parse("70s") == 70

Here the second one repeats the first: it runs no branch of the project that the first one does not
run, and detects no planted fault that it does not detect. It must not mention anything of the
project's either that the other one does not mention: with `parse("5m")`, where `m` is a key in the
project's code, it would be another case although the branches are the same. Nor may it fail with the
code before the change, with which the other one passes. Faults are planted in the tables and
patterns that a function reads, too; if that is not possible, nothing shows that two inputs are alike
for them, and it is left open.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.definitions import assigned_values
from remora.code.syntax.source import Source, read_source
from remora.ids import split_node_key, unescape_path
from remora.judges.judged_change import Change
from remora.judges.runner.parent import TracedTest
from remora.judges.tests.circumstances import HERE
from remora.judges.tests.entered_functions import Entered
from remora.judges.tests.planted_faults import faults_detected
from remora.judges.tests.test_runs import Outcomes, run_tests
from remora.judges.tests.written_test import WrittenTest, tests_in
from remora.text import count
from remora.tools.tree import ToolTree

_MOST_OTHERS = 8
"""Other tests whose branches are compared, those that mention least beside (decision)."""
_AT_ONCE = 6
"""Functions in which faults are planted before time is looked at again (decision)."""
_LEAST_FAULTS = 3
"""With fewer planted faults that a test detects, it shows little that another one does (decision)."""
_WORD = re.compile(r"[^\W\d_]+")
"""Words in texts, such as the unit in `5m`."""

Branches = frozenset[tuple[str, int, int]]


def duplicates(change: Change, tests: Sequence[WrittenTest]) -> dict[str, WrittenTest]:
    """Return the test that already claims what a changed test claims, by the ID of the latter."""
    changed = {test.id for test in tests}
    found: dict[str, WrittenTest] = {}
    for path in {test.path: None for test in tests}:
        in_file = tests_in(path, change.files[path].after)
        known = [test for test in in_file if test.id not in changed]
        for test in (test for test in tests if test.path == path):
            same = next(_same(test, known), None)
            if same is not None:
                found[test.id] = same
            else:
                known.append(test)
    return found


def _same(test: WrittenTest, known: Sequence[WrittenTest]) -> Iterator[WrittenTest]:
    """Yield the known tests of the same class or of none that claim all that a test claims."""
    claims = {claim.text for claim in test.claims}
    for other in known:
        is_said = bool(claims) and claims <= {claim.text for claim in other.claims}
        if is_said and test.setting == other.setting:
            yield other


def repeated_tests(
    change: Change,
    tests: Sequence[WrittenTest],
    entered: Entered,
    is_over: Callable[[], bool],
) -> tuple[dict[str, str], list[str]]:
    """Return what makes added tests superfluous by ID, and the tests that there was no time for.

    `entered` are the functions that the tests entered.
    """
    old = _old_tests(change, tests)
    added = [test for test in tests if test.id not in old]
    others = _others_of(change, added, old, entered)
    asked = [test.id for test in added if others[test.id]]
    ids = dict.fromkeys([*asked, *(other.id for test in asked for other in others[test])])
    if not asked:
        return {}, []
    outcomes = run_tests(change.after, [*ids], HERE, traced=True, branching=True)
    pairs = [
        pair
        for test in asked
        if (pair := _pair(outcomes, test, others[test], entered.get(test, ()))).same
    ]
    while (open_pairs := [pair for pair in pairs if pair.is_open]) and not is_over():
        _try_faults(change.after, open_pairs)
    late = [pair.test for pair in pairs if pair.same and not pair.is_tried]
    twins = {
        pair.test: pair
        for pair in pairs
        if pair.same and pair.is_tried and pair.detected >= _LEAST_FAULTS
    }
    detecting = _detecting(change, {test: pair.same[0].id for test, pair in twins.items()}, old)
    return {test: pair.words for test, pair in twins.items() if test not in detecting}, late


class _Pair(msgspec.Struct):
    """A test, others that run all branches that it runs, and the functions with faults to try.

    `detected` counts the faults that the test detects. If some could not be tried, it is not
    `known` whether it repeats the others.
    """

    test: str
    same: list[WrittenTest]
    functions: list[str]
    detected: int = 0
    known: bool = True

    @property
    def is_open(self) -> bool:
        return bool(self.same and self.functions and self.known)

    @property
    def is_tried(self) -> bool:
        return self.known and not self.functions

    @property
    def words(self) -> str:
        faults = count(self.detected, "planted fault")
        known = self.same[0].qualname
        return f"it adds nothing to `{known}`, which runs all that it runs and detects the same {faults}"


def _pair(
    outcomes: Outcomes, test: str, others: Sequence[WrittenTest], functions: Sequence[str]
) -> _Pair:
    branches = _branches(outcomes, test)
    same = [other for other in others if branches and branches <= _branches(outcomes, other.id)]
    return _Pair(test, same, [*functions])


def _try_faults(place: ToolTree, pairs: Sequence[_Pair]) -> None:
    """Plant faults in the next functions of each pair, in as few processes as possible."""
    asked = dict[str, set[str]]()
    chunks = {pair.test: pair.functions[:_AT_ONCE] for pair in pairs}
    for pair in pairs:
        del pair.functions[:_AT_ONCE]
        for key in chunks[pair.test]:
            asked.setdefault(key, set()).update([pair.test, *(other.id for other in pair.same)])
    shown = faults_detected(place, {key: sorted(tests) for key, tests in asked.items()})
    for pair in pairs:
        for key in chunks[pair.test]:
            by_test = shown[key]
            if by_test is None:
                pair.known = False
                break
            own = by_test.get(pair.test, set())
            pair.detected += len(own)
            pair.same = [other for other in pair.same if own <= by_test.get(other.id, set())]


def _detecting(change: Change, twins: Mapping[str, str], old: Collection[str]) -> list[str]:
    """Return the tests that fail with the code before the change, unlike those that they repeat.

    The tests after the change are written into the tree before it. If an old test fails there, such
    as for a missing import, nothing is known.
    """
    if not twins:
        return []
    before = ToolTree(change.before.tree, change.after.python)
    for path, file in change.files.items():
        if is_of_tests(path) and file.after is not None:
            before.files.put(path, file.after)
    outcomes = run_tests(before, [*dict.fromkeys([*twins, *twins.values()])], HERE)
    return [
        test
        for test, twin in twins.items()
        if outcomes.of(test) != "passed" and (twin in old or outcomes.of(twin) == "passed")
    ]


def _old_tests(change: Change, tests: Sequence[WrittenTest]) -> set[str]:
    """Return the IDs of the tests that the changed files had before."""
    paths = {test.path for test in tests}
    return {test.id for path in paths for test in tests_in(path, change.files[path].before)}


def _others_of(
    change: Change, added: Sequence[WrittenTest], old: Collection[str], entered: Entered
) -> dict[str, list[WrittenTest]]:
    """Return for each test the old ones, and those before it, that mention all that it mentions."""
    files = _ProjectFiles(change.after)
    found = dict[str, list[WrittenTest]]()
    for test in added:
        functions = entered.get(test.id, ())
        known = files.words(functions)
        said, fit = _mentioned(test, known), list[tuple[int, WrittenTest]]()
        for other in tests_in(test.path, change.files[test.path].after):
            beside = _mentioned(other, known)
            is_older = other.line < test.line or other.id in old
            if other.id != test.id and is_older and said <= beside:
                fit.append((len(beside - said), other))
        nearest = sorted(fit, key=lambda pair: pair[0])[:_MOST_OTHERS]
        found[test.id] = [other for _, other in nearest] if known else []
    return found


class _ProjectFiles:
    """The words of files of a project, which are read once."""

    def __init__(self, place: ToolTree) -> None:
        self._place = place
        self._words = dict[str, frozenset[str]]()

    def words(self, functions: Iterable[str]) -> frozenset[str]:
        """Return the names, parameters and text values of the files that have some functions."""
        paths = dict.fromkeys(unescape_path(split_node_key(key)[0]) for key in functions)
        for path in paths:
            if path not in self._words:
                source = read_source(path, self._place.read(path))
                tree = source.tree if isinstance(source, Source) else ast.Module([], [])
                self._words[path] = frozenset(_words(tree))
        return frozenset().union(*(self._words[path] for path in paths))


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
    """Return the project's words in a test, its fixtures, and what it takes from its file."""
    function = test.function
    own = {name for name, _ in assigned_values(test.module.body)}
    said = {f"fixture {argument.arg}" for argument in function.args.args}
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if not name.startswith("assert"):
                    said |= {f"self.{name}", f"class {test.qualname.rpartition('.')[0]}"}
            case ast.Name(id=name) if name in own:
                said.add(f"own {name}")
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.Name(id=name):
                said |= {name} & words
            case ast.Constant(value=str(value)):
                said |= {value, *_WORD.findall(value)} & words
    return said


def _branches(outcomes: Outcomes, test: str) -> Branches:
    """Return the branches of the project's code that a test runs, with all of its parameters."""
    rows = (row for name, row in outcomes.seen.items() if name.partition("[")[0] == test)
    traced = [msgspec.convert(row, TracedTest) for row in rows]
    return frozenset(
        branch for row in traced for branch in row.branches if not is_of_tests(branch[0])
    )
