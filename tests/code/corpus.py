"""Source files of the standard library and two installed packages, all or a sample."""

import ast
import importlib.util
import warnings
from functools import cache
from pathlib import Path

LIBRARY = Path(ast.__file__).parent
PACKAGES = ("mypy", "_pytest")


@cache
def library(step: int = 1) -> tuple[Path, ...]:
    """Return every `step`-th file of the standard library."""
    found = (path for path in LIBRARY.rglob("*.py") if "site-packages" not in path.parts)
    return tuple(sorted(found))[::step]


@cache
def package(name: str, step: int = 1) -> tuple[Path, ...]:
    """Return every `step`-th file of a package; none if it is not installed."""
    spec = importlib.util.find_spec(name)
    folders = spec.submodule_search_locations if spec is not None else None
    return tuple(sorted(Path(folders[0]).rglob("*.py")))[::step] if folders else ()


def tree_of(source: bytes) -> ast.Module | None:
    """Return the syntax tree; None for files that do not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError):
            return None
