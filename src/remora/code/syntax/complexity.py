"""Cyclomatic complexity of functions and classes, counted in the same way as by radon."""

import ast
from collections.abc import Sequence

from remora.code.syntax.definitions import Definition
from remora.ids import NodeKey


def complexities(definitions: Sequence[Definition], branches: Sequence[int]) -> list[int]:
    """Return the complexity of each definition.

    `branches` contains the number of branches in each definition, excluding nested definitions. The
    complexity of a function is 1 plus its number of branches. The complexity of a class is 1 plus
    its number of branches plus the complexities of its methods. If a class has methods, this sum is
    divided by their number and rounded down, and 1 is added if there is more than one method.
    """
    methods: dict[NodeKey, list[int]] = {}
    for (node, _, _, parent), count in zip(definitions, branches, strict=True):
        if not isinstance(node, ast.ClassDef):
            methods.setdefault(parent, []).append(count + 1)
    return [
        _of_class(count, methods.get(key, ())) if isinstance(node, ast.ClassDef) else count + 1
        for (node, _, key, _), count in zip(definitions, branches, strict=True)
    ]


def _of_class(branches: int, methods: Sequence[int]) -> int:
    whole = 1 + branches + sum(methods)
    return whole if not methods else int(whole / len(methods)) + (len(methods) > 1)
