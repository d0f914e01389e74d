"""Functions that a project's tests call or mention by name, and those whose examples are tests."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, cached_property
from typing import NamedTuple

from remora.code.callgraph.linker import Linker
from remora.code.edit.text_lines import decode
from remora.code.pytest_model.pytest_file import is_of_tests, is_test_file, is_unittest_file
from remora.code.pytest_model.related_tests import RelatedTests
from remora.code.pytest_model.used_names import COMMON_NAMES, reached_names, used_names
from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.hidden_uses import names_with
from remora.code.syntax.nodes import Node
from remora.errors import HostError
from remora.hub.file_reader import read_all
from remora.hub.query.snapshots import MemorySnapshot
from remora.judges.tests.run_doctests import RunDoctests
from remora.python_text import parse
from remora.tools.file_tree import FileTree
from remora.tools.tree import ToolTree

_MOST_FILES = 400
"""Test files that are read, the first in the order of their paths."""


class NodesWithTests:
    """Finds out which nodes have tests. The tree's Python files are read on first use."""

    def __init__(self, place: FileTree, covered: Collection[str] = ()) -> None:
        self._place = place
        self._covered = covered

    def holds(self, key: str) -> bool:
        """Return True if a test calls the node, directly or indirectly, or is named after it.

        `covered` contains the keys of nodes that coverage saw tests run, for example through a
        registry or a command line.
        """
        return key in self._covered or bool(self.tests_of(key))

    def tests_of(self, key: str) -> list[str]:
        """Return the pytest ids of the tests that may reach the node, nearest first."""
        try:
            return [test.id for test in self._related.search(key).tests]
        except Exception:  # drop the half-built result
            self.__dict__.pop("_related", None)
            raise

    @cached_property
    def _related(self) -> RelatedTests:
        return RelatedTests(
            Linker(self._view), self._view, settings=cache(self._place.pytest_settings)
        )

    @cached_property
    def _view(self) -> MemorySnapshot:
        return MemorySnapshot(read_all(self._place.tree, self._place.files.glob("**/*.py")))


class TestedNames:
    """The names that tests use. Files are read on first use."""

    __test__ = False

    def __init__(self, place: ToolTree) -> None:
        self._place = place
        self._reached: dict[str, set[str]] = {}

    def holds(self, node: Node, tree: ast.Module) -> bool:
        """Return True if a test or an example that runs uses a function of that name.

        A function with examples in its docstring counts if these run as tests.

        A function also counts if such a function of its file, of which `tree` is the syntax tree,
        uses it, directly or indirectly, or if a test is named after it. Methods of common names,
        such as `copy`, count only in test files that mention their class, and so do methods that
        another class of the file has, too, in test files that mention that one.
        """
        if self._runs_examples(node, tree) or self._is_used(node.qualname, tree):
            return True
        if node.path not in self._reached:
            self._reached[node.path] = self._reached_in(tree)
        return node.qualname.rpartition(".")[2] in self._reached[node.path]

    def _reached_in(self, tree: ast.Module) -> set[str]:
        """Return the names that functions of a file use if tests use these functions."""
        uses = dict[str, set[str]]()
        started: set[str] = set()
        for qualname, body in _definitions(tree):
            name = qualname.rpartition(".")[2]
            uses.setdefault(name, set()).update(used_names(body) - COMMON_NAMES)
            if isinstance(body, FunctionNode) and self._is_used(qualname, tree):
                started.add(name)
        return reached_names((used for name in started for used in uses[name]), uses)

    def _is_used(self, qualname: str, tree: ast.Module) -> bool:
        owner, _, name = qualname.rpartition(".")
        rivals = _classes_with(name, tree) - {owner} if owner else set()
        for path, text in self._texts.items():
            if name not in text:
                continue
            if name in COMMON_NAMES and not re.search(rf"\b{re.escape(owner or name)}\b", text):
                continue
            used = self._used[path]
            if rivals & used.names and owner not in used.names:
                continue
            if name in (used.called if owner else used.plain):
                return True
            if f"test_{name}" in used.names and owner in text:
                return True
        return False

    def _runs_examples(self, node: Node, tree: ast.Module) -> bool:
        """Return True if the function's docstring has examples, and they run as tests."""
        found = (body for qualname, body in _definitions(tree) if qualname == node.qualname)
        return any(
            self._doctests.are_tests_of(body, node.path)
            for body in found
            if isinstance(body, FunctionNode)
        )

    @cached_property
    def _doctests(self) -> RunDoctests:
        return RunDoctests(self._place, self._test_files)

    @cached_property
    def _test_files(self) -> dict[str, str]:
        found = test_files(self._place)
        return {p: text for p, text in found.items() if is_of_tests(p) or is_unittest_file(p)}

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The sources of test files, and of examples that run as tests, by path."""
        return self._doctests.sources | self._test_files

    @cached_property
    def _used(self) -> Mapping[str, "_Names"]:
        return {path: _names(text) for path, text in self._texts.items()}


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the functions, methods and variables of a file, by qualname."""
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, statement
            case ast.ClassDef(name=name, body=body):
                for member in body:
                    if isinstance(member, FunctionNode):
                        yield f"{name}.{member.name}", member
            case ast.Assign(targets=[ast.Name(id=name)]) if name != "__all__":
                yield name, statement


class _Names(NamedTuple):
    """The names that a file reads or that its tests have.

    `called` contains those that it calls, and `plain` those that are not attributes of variables.
    """

    names: set[str]
    called: set[str]
    plain: set[str]


def _names(text: str) -> _Names:
    found = _Names(set(), set(), set())
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    variables = _variables(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                found.called.add(name)
            case ast.FunctionDef(name=name) if name.startswith("test_"):
                found.plain.add(name)
            case ast.Name(id=name, ctx=ast.Load()):
                found.plain.add(name)
            case ast.Attribute(value=receiver, attr=name, ctx=ast.Load()):
                while isinstance(receiver, ast.Attribute):
                    receiver = receiver.value
                is_plain = isinstance(receiver, ast.Name) and receiver.id not in variables
                (found.plain if is_plain else found.names).add(name)
    return found._replace(names=found.names | found.plain | found.called)


def _variables(tree: ast.Module) -> set[str]:
    """Return the names of variables and parameters."""
    stored = {*names_with(ast.Store, tree)}
    return stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _classes_with(name: str, tree: ast.Module) -> set[str]:
    """Return the classes of a file that define a method."""
    return {
        owner.name
        for owner in tree.body
        if isinstance(owner, ast.ClassDef)
        and any(isinstance(member, FunctionNode) and member.name == name for member in owner.body)
    }


def test_files(place: ToolTree) -> dict[str, str]:
    paths = [
        path
        for path in place.files.glob("**/*.py", look=place.left)
        if is_test_file(path) or is_unittest_file(path)
    ]
    found: dict[str, str] = {}
    for path in paths[:_MOST_FILES]:
        try:
            found[path] = decode(path, place.read(path)).body
        except HostError:  # too large, or not UTF-8
            continue
    return found
