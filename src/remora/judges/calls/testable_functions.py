"""Functions that can be tested, as far as their definitions show."""

import ast

from remora.code.folders import BESIDE, VENDORED
from remora.code.pytest_model.pytest_file import TEST_FOLDERS, is_conftest, is_test_file
from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.nodes import Module, Node, find_node

_FOLDERS = BESIDE | VENDORED | TEST_FOLDERS
_FILES = frozenset(
    {"setup.py", "conf.py", "__main__.py", "noxfile.py", "tasks.py", "compat.py", "_compat.py"}
)
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


def needs_test(module: Module, node: Node) -> bool:
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


def is_script(path: str, tree: ast.Module) -> bool:
    """Return True for files at the root that are run rather than imported."""
    last = tree.body[-1] if tree.body else None
    return "/" not in path and isinstance(last, ast.If) and "__main__" in ast.unparse(last.test)


def _is_excluded_file(path: str) -> bool:
    *folders, file = path.split("/")
    return (
        file in _FILES
        or is_test_file(path)
        or is_conftest(path)
        or not _FOLDERS.isdisjoint(folders)
        or not all(part.isidentifier() for part in (*folders[-1:], file.removesuffix(".py")))
    )


def is_unimplemented(function: FunctionNode) -> bool:
    """Return True if the function is not implemented yet."""
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Raise) and "NotImplemented" in ast.dump(statement))
        for statement in function.body
    )
