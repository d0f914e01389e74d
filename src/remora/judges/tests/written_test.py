"""Tests that a change adds or edits, as they are written."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import msgspec

from remora.code.pytest_model.pytest_file import is_test_file, pytest_id
from remora.code.pytest_model.test_functions import is_test_name
from remora.code.syntax.definitions import FunctionNode, find_definitions
from remora.code.syntax.source import Source, read_source
from remora.judges.judged_change import Change
from remora.judges.tests.claims import Claim, claims_of, effects_of


class WrittenTest(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A test in a file."""

    path: str
    qualname: str
    key: str
    """Its node key."""
    function: FunctionNode
    module: ast.Module
    """The syntax tree of the file."""

    @property
    def id(self) -> str:
        return pytest_id(self.path, self.qualname)

    @property
    def line(self) -> int:
        """The line of its `def`."""
        return self.function.lineno

    @property
    def last_line(self) -> int:
        return self.function.end_lineno or self.line

    @property
    def lines(self) -> frozenset[int]:
        """The lines of its body."""
        return frozenset(range(self.function.body[0].lineno, self.last_line + 1))

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @cached_property
    def claims(self) -> list[Claim]:
        return claims_of(self.function)

    @cached_property
    def claimed(self) -> Counter[str]:
        """The texts of its claims."""
        return Counter(claim.text for claim in self.claims)

    @cached_property
    def rows(self) -> Counter[str]:
        """The rows of its parameters."""
        tables = [
            decorator.args[1]
            for decorator in self.function.decorator_list
            if isinstance(decorator, ast.Call)
            and ast.unparse(decorator.func).endswith("parametrize")
            and len(decorator.args) > 1
        ]
        return Counter(ast.unparse(row) for table in tables for row in getattr(table, "elts", ()))

    @cached_property
    def setting(self) -> list[str]:
        """Parts that must be equal, beside claims, for two tests to be the same.

        These are decorators, fixtures, own functions, and statements that may change something.
        """
        names = sorted(argument.arg for argument in self.function.args.args)
        decorators = map(ast.unparse, self.function.decorator_list)
        return [*decorators, *names, *map(ast.unparse, effects_of(self.function))]


def tests_in(path: str, content: bytes | None) -> list[WrittenTest]:
    """Return the tests of a file. Those in nested functions are not tests."""
    source = read_source(path, content or b"")
    if not (is_test_file(path) and isinstance(source, Source)):
        return []
    definitions = find_definitions(source.tree, path)
    functions = {
        definition.key for definition in definitions if isinstance(definition.node, FunctionNode)
    }
    return [
        WrittenTest(
            path=path,
            qualname=definition.qualname,
            key=definition.key,
            function=definition.node,
            module=source.tree,
        )
        for definition in definitions
        if isinstance(definition.node, FunctionNode)
        and is_test_name(definition.qualname.partition("#")[0])
        and definition.parent not in functions
    ]


def changed_tests(change: Change) -> Iterator[WrittenTest]:
    """Yield the tests that are new or different, in source order."""
    for path, file in change.files.items():
        changed = {node.qualname for node in file.changed_functions}
        yield from (test for test in tests_in(path, file.after) if test.qualname in changed)


def lost_checks(change: Change) -> tuple[list[str], list[str]]:
    """Return the IDs of the tests that a change deletes, and of those that check less after it.

    A test that moved to another class or changed file is not deleted. One that has new assertions
    or rows, or whose old assertions moved to another test, does not check less.
    """
    files = change.files.items()
    before = [test for path, file in files for test in tests_in(path, file.before)]
    after = {test.key: test for path, file in files for test in tests_in(path, file.after)}
    earlier = {test.key: test.claimed for test in before}
    moved = {
        text for test in after.values() for text in test.claimed - earlier.get(test.key, Counter())
    }
    lost = Counter(test.name for test in before) - Counter(test.name for test in after.values())
    deleted, weaker = list[str](), list[str]()
    for test in before:
        if (now := after.get(test.key)) is not None:
            gone = (test.claimed - now.claimed).keys() - moved
            is_more = now.claimed - test.claimed or now.rows - test.rows
            if (gone or test.rows - now.rows) and (now.claimed or now.rows) and not is_more:
                weaker.append(now.id)
        elif lost[test.name] > 0:
            lost[test.name] -= 1
            deleted.append(test.id)
    return deleted, weaker
