"""Absolute names of the imports in a file, derived from the file's path."""

import ast
from collections.abc import Iterable

from remora.code.syntax.definitions import ImportNode

_SOURCE_FOLDER = "src"


def package_of(path: str) -> tuple[str, ...]:
    """Return the names of the package folders that contain a file.

    The outermost package folder follows the last folder whose name is `src` or is not an
    identifier.
    """
    folders = path.split("/")[:-1]
    for index in range(len(folders) - 1, -1, -1):
        if folders[index] == _SOURCE_FOLDER or not folders[index].isidentifier():
            return tuple(folders[index + 1 :])
    return tuple(folders)


def imported_names(path: str, imports: Iterable[ImportNode]) -> tuple[str, ...]:
    """Return the unique imported names, such as `os` or `pkg.sub.*`, in source order."""
    names: dict[str, None] = {}
    package = package_of(path)
    for node in imports:
        base = "" if isinstance(node, ast.Import) else _module_prefix(package, node)
        for alias in node.names:
            names[base + alias.name] = None
    return tuple(names)


def _module_prefix(package: tuple[str, ...], node: ast.ImportFrom) -> str:
    """Return the module prefix of an imported name, including the trailing dot."""
    module = f"{node.module}." if node.module else ""
    if not node.level:
        return module
    parts = len(package) - node.level + 1
    if parts < 0 or (parts == 0 and not module):
        return "." * node.level + module
    return "".join(f"{part}." for part in package[:parts]) + module
