"""Cyclomatic complexity as radon counts it, from the branches of each body."""

import ast
from collections.abc import Sequence

from remora.code.syntax.definitions import Definition
from remora.ids import NodeKey


def complexities(definitions: Sequence[Definition], branches: Sequence[int]) -> list[int]:
    """Return the complexity of each definition; `branches` excludes those in nested definitions.

    Function: branches + 1. Class: 1 + branches + the sum of its methods' complexities. If there are
    methods, the sum is divided by their number and rounded down; 1 is added if there are several.
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
