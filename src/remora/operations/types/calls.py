"""Calls of a project's functions, which are found by name."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.effects import unqualified_name
from remora.judges.types.project_index import Function, ProjectIndex
from remora.text import clip
from remora.tools.host.module_names import module_name

_LITERALS = (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Set, ast.Dict)
_CALL_LIMIT = 110
"""Characters of a call, so that a fact has room for three."""


class Calls:
    """All calls in a project."""

    def __init__(self, index: ProjectIndex) -> None:
        self._files = index.files
        self._modules = {module_name(path).rpartition(".")[2] for path in index.files} - {""}
        self._by_name: dict[str, list[tuple[str, ast.Call]]] = defaultdict(list)
        for path, file in index.files.items():
            for node in ast.walk(file.source.tree):
                if isinstance(node, ast.Call) and not isinstance(node.func, ast.Call):
                    self._by_name[unqualified_name(node.func)].append((path, node))

    def passing(self, function: Function, parameter: str) -> int:
        """Return how many calls that may be of a function, by its name, pass a parameter."""
        names = [given.name for given in function.parameters if given.kind == "parameter"]
        if parameter not in names:
            return 0
        position = names.index(parameter)
        called = {function.short, _name(function)}
        return sum(
            len(call.args) > position or any(keyword.arg == parameter for keyword in call.keywords)
            for name in called
            for path, call in self._by_name.get(name, ())
            if self._may_call(function, path, call.func)
        )

    def _may_call(self, function: Function, path: str, called: ast.expr) -> bool:
        """Return True for attributes of modules and names, or of other values if it is a method."""
        if not isinstance(called, ast.Attribute):
            return function.owner is None or function.short == "__init__"
        if function.owner is not None:
            return not isinstance(called.value, _LITERALS)
        file, owner = self._files[path], unqualified_name(called.value)
        module, name = file.imports.get(owner, (owner if owner in file.imported_words else "", ""))
        return (name or module).rpartition(".")[2] in self._modules

    def sites(self, function: Function) -> Iterator[str]:
        """Yield calls of a function's name with their arguments, those in its own file first."""
        found = self._by_name.get(_name(function), ())
        for path, call in sorted(found, key=lambda site: site[0] != function.path):
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
    if function.short == "__init__" and function.owner is not None:
        return function.owner.name.rpartition(".")[2]
    return function.short
