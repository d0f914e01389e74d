"""Functions that need a test, and the reasons no test can be proposed for some of them.

Only sources are read. No project code runs.
"""

import ast
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from remora.code.folders import BESIDE, VENDORED
from remora.code.pytest_model.pytest_file import TEST_FOLDERS, is_conftest, is_test_file
from remora.code.syntax.definitions import FunctionNode, find_definitions
from remora.code.syntax.effects import own_nodes
from remora.code.syntax.nodes import Module, Node, find_node
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.errors import HostError
from remora.judges.calls.project_examples import ProjectExamples, stated_calls
from remora.judges.calls.target_function import is_importable, target_in
from remora.judges.tests.tested_names import NodesWithTests, TestedNames
from remora.operations.test.trivial_functions import is_trivial
from remora.tools.tree import ToolTree

WITHOUT_EXAMPLE = "without an example and its result, which need a person or a model"
WITHOUT_RESULT = "without a result that a test can assert"
TRIVIAL = "with nothing to test"
NOT_CALLABLE = "that cannot be called from a test"
_FOLDERS = BESIDE | VENDORED | TEST_FOLDERS
_FILES = frozenset(
    {
        "setup.py", "conf.py", "__main__.py", "noxfile.py", "tasks.py", "compat.py", "_compat.py",
        "versioneer.py", "manage.py", "release.py",
    }
)  # fmt: skip
_UNFIT = (
    "overload",
    "abstractmethod",
    "property",
    "cached_property",
    "setter",
    "fixture",
    "contextmanager",
    "deleter",
)


class TestNeed:
    """Computes which functions of a tree need a test. Files are read one after another.

    With the option `missed`, only tests that miss faults are needed. With the option `open`, a
    model can write tests of functions for which there is no example.
    """

    __test__ = False

    def __init__(self, place: ToolTree, options: Mapping[str, Any]) -> None:
        self._place = place
        self._tested = NodesWithTests(place, options.get("reached_by_tests") or ())
        self._missed: Mapping[str, Any] = options.get("missed") or {}
        self._can_write = bool(options.get("open"))
        self._names = TestedNames(self._place)
        self._last: tuple[str, _File | None] = "", None

    def amount(self, module: Module, node: Node) -> int | str:
        """Return 1 for a job, 0 if there is nothing to do, or the reason there is no job."""
        if not _may_need_test(module, node):
            return 0
        file = self._file(node.path)
        if not self._missed and (
            file is None
            or self._tested.holds(node.key)
            or self._names.holds(node, file.source.tree)
        ):
            return 0
        reason = NOT_CALLABLE if file is None else self._obstacle(file, node)
        needs_model = reason in (WITHOUT_EXAMPLE, WITHOUT_RESULT)
        return 1 if self._can_write and needs_model else reason or 1

    def _obstacle(self, file: "_File", node: Node) -> str:
        """Return the reason no test can be proposed, or an empty string."""
        function = file.functions.get(node.qualname)
        if function is None:
            return NOT_CALLABLE
        exists = self._place.files.exists
        subject = target_in(file.source, node.path, function, node.qualname, exists)
        if isinstance(subject, str) or not is_importable(subject):
            return NOT_CALLABLE
        if is_trivial(subject):
            return TRIVIAL
        if self._missed:
            return ""
        if not _has_result(function):
            return WITHOUT_RESULT
        return "" if stated_calls(subject, self._examples) else WITHOUT_EXAMPLE

    @cached_property
    def _examples(self) -> ProjectExamples:
        return ProjectExamples(self._place)

    def _file(self, path: str) -> "_File | None":
        if path != self._last[0]:
            try:
                read = read_source(path, self._place.read(path))
            except HostError:
                return None
            self._last = path, None if isinstance(read, Unreadable) else _File(read)
        return self._last[1]


class _File:
    """A parsed file with its functions, by qualname."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.functions = {
            definition.qualname: definition.node
            for definition in find_definitions(source.tree, "")
            if isinstance(definition.node, FunctionNode)
        }


def _has_result(function: FunctionNode) -> bool:
    """Return True if the function returns or yields a value."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom)
        or (isinstance(node, ast.Return) and node.value is not None)
        for node in own_nodes(function.body)
    )


def _may_need_test(module: Module, node: Node) -> bool:
    """Return True for public functions and methods that a test can call by name.

    Properties, coroutines, fixtures and similar functions are excluded, and so are files such as
    tests and examples.
    """
    parts = node.qualname.split(".")
    return (
        node.node_type == "function"
        and not _is_excluded_file(node.path)
        and len(parts) <= 2
        and _is_importable(module, node)
        and not any(part.startswith("_") or "#" in part or part == "main" for part in parts)
        and not (node.signature or "").startswith("async ")
        and not any(
            name.partition("(")[0].lstrip("@").rpartition(".")[2] in _UNFIT
            for name in node.decorators
        )
    )


def _is_importable(module: Module, node: Node) -> bool:
    around = find_node(module, node.parent) if node.parent is not None else None
    return around is not None and around.node_type != "function"


def _is_excluded_file(path: str) -> bool:
    *folders, file = path.split("/")
    return (
        file in _FILES
        or is_test_file(path)
        or is_conftest(path)
        or not _FOLDERS.isdisjoint(folders)
        or not all(part.isidentifier() for part in (*folders[-1:], file.removesuffix(".py")))
    )
