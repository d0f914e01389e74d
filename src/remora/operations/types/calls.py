"""Calls of a project's functions, which are found by name."""

import ast
from collections import defaultdict
from collections.abc import Iterator
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
