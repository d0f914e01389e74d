"""Calls of a project's functions, for a model that looks for the types of their parameters."""

import ast
from collections.abc import Iterator, Sequence
from copy import copy

from remora.code.syntax.definitions import FunctionNode
from remora.operations.types.source.project_index import Function, ProjectIndex
from remora.text import clip

_CALL_LIMIT = 110
"""Characters of a call, so that a fact has room for three."""


def callers_first(functions: Sequence[Function]) -> Iterator[Function]:
    """Yield functions of a file, those that call others before these, by their names."""
    calls = {function.number: set(_called_names(function.node)) for function in functions}
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


def call_sites(function: Function, index: ProjectIndex) -> Iterator[str]:
    """Yield calls of a function's name with their arguments, those in its own file first."""
    name = _name(function)
    for path in sorted(index.files, key=lambda path: (path != function.path, path)):
        source = index.files[path].source
        for node in ast.walk(source.tree) if f"{name}(" in source.text else ():
            if isinstance(node, ast.Call) and _last_name(node.func) == name:
                yield f"{path}: {clip(ast.unparse(node), _CALL_LIMIT)}"


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


def _called_names(node: FunctionNode) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            yield _last_name(inner.func)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
