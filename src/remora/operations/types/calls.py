"""Calls of a project's functions, which are found by name."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.effects import unqualified_name
from remora.judges.types.project_index import Function, ProjectIndex
from remora.text import clip

_CALL_LIMIT = 110
"""Characters of a call, so that a fact has room for three."""


class Calls:
    """All calls in a project."""

    def __init__(self, index: ProjectIndex) -> None:
        self._by_name: dict[str, list[tuple[str, ast.Call]]] = defaultdict(list)
        for path, file in index.files.items():
            for node in ast.walk(file.source.tree):
                if isinstance(node, ast.Call) and not isinstance(node.func, ast.Call):
                    self._by_name[unqualified_name(node.func)].append((path, node))

    def sites(self, function: Function) -> Iterator[str]:
        """Yield calls of a function's name with their arguments, those in its own file first."""
        calls = self._by_name.get(_name(function), ())
        for path, call in sorted(calls, key=lambda site: site[0] != function.path):
            yield f"{path}: {clip(ast.unparse(call), _CALL_LIMIT)}"


def callers_first(functions: Sequence[Function]) -> Iterator[Function]:
    """Yield functions of a file, those that call others before these, by their names."""
    calls = {
        function.number: {
            unqualified_name(node.func)
            for node in ast.walk(function.node)
            if isinstance(node, ast.Call)
        }
        for function in functions
    }
    while calls:
        left = [function for function in functions if function.number in calls]
        free = (
            function
            for function in left
            if not any(
                _name(function) in calls[other.number] for other in left if other is not function
            )
        )
        chosen = next(free, left[0])
        del calls[chosen.number]
        yield chosen


def header_of(node: FunctionNode) -> str:
    """Return the first line of a function, on one line."""
    bare = copy(node)
    bare.body, bare.decorator_list = [ast.Pass()], []
    return ast.unparse(bare).splitlines()[0]


def _name(function: Function) -> str:
    """Return the name by which a function is called."""
    if function.name == "__init__" and function.owner is not None:
        return function.owner.name.rpartition(".")[2]
    return function.name
