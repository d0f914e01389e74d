"""What a file imports, by absolute names, as far as its own path tells them."""

import ast
from collections.abc import Iterable

from remora.code.syntax.definitions import ImportNode

_SOURCES = "src"


def package_of(path: str) -> tuple[str, ...]:
    """The package that a file's relative imports begin from: its folders.

    What is in a folder `src` begins there, and no package has a name that Python could not import.
    `pkg/__init__.py` and `pkg/a.py` both give `("pkg",)`.
    """
    folders = path.split("/")[:-1]
    for place in range(len(folders) - 1, -1, -1):
        if folders[place] == _SOURCES or not folders[place].isidentifier():
            return tuple(folders[place + 1 :])
    return tuple(folders)


def imported_names(path: str, imports: Iterable[ImportNode]) -> tuple[str, ...]:
    """`os`, `typing.Optional`, `pkg.sub.*`: each once, in the order of the source.

    A relative import that leads above the outermost folder stays as it is written: `..a`.
    """
    names: dict[str, None] = {}
    package = package_of(path)
    for node in imports:
        base = "" if isinstance(node, ast.Import) else _base(package, node)
        for alias in node.names:
            names[base + alias.name] = None
    return tuple(names)


def _base(package: tuple[str, ...], node: ast.ImportFrom) -> str:
    """What stands before an imported name, with its dot."""
    module = f"{node.module}." if node.module else ""
    if not node.level:
        return module
    kept = len(package) - node.level + 1
    if kept < 0 or (kept == 0 and not module):
        return "." * node.level + module
    return "".join(f"{part}." for part in package[:kept]) + module
