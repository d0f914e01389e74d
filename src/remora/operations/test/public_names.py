"""Packages that provide a module's names, because their `__init__` imports them."""

import ast
from collections.abc import Callable

from remora.operations.test.inputs.call_input import importable_names
from remora.operations.test.target_function import TargetFunction


def public_modules(
    subject: TargetFunction, tree_of: Callable[[str], ast.Module | None]
) -> list[str]:
    """Return the packages that provide the function or its class, shortest first.

    `tree_of` returns the syntax tree of a file, or None if there is no such file.
    """
    parts = subject.module.split(".")
    folder = f"{subject.import_root}/" if subject.import_root else ""
    name = subject.qualname.partition(".")[0]
    found: list[str] = []
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        tree = tree_of(f"{folder}{'/'.join(parts[:end])}/__init__.py")
        if tree is None:
            continue
        names = importable_names(tree, package, is_package=True)
        stars = [
            "." * one.level + (one.module or "")
            for one in tree.body
            if isinstance(one, ast.ImportFrom) and one.names[0].name == "*"
        ]
        whole = any(subject.module.endswith(star.lstrip(".")) for star in stars)
        if (name in names and names[name].module == subject.module) or (
            whole and _is_exported(subject.source.tree, name)
        ):
            found.append(package)
    return found


def _is_exported(tree: ast.Module, name: str) -> bool:
    """Return True if `from module import *` imports the name."""
    for one in tree.body:
        match one:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return any(isinstance(n, ast.Constant) and n.value == name for n in ast.walk(value))
    return not name.startswith("_")
