"""Real source files: the standard library and two installed packages, whole or a part of them."""

import ast
import importlib.util
import warnings
from functools import cache
from pathlib import Path

LIBRARY = Path(ast.__file__).parent
PACKAGES = ("mypy", "_pytest")


@cache
def library(step: int = 1) -> tuple[Path, ...]:
    """Every `step`-th file of the standard library."""
    found = (path for path in LIBRARY.rglob("*.py") if "site-packages" not in path.parts)
    return tuple(sorted(found))[::step]


@cache
def package(name: str, step: int = 1) -> tuple[Path, ...]:
    """Every `step`-th file of an installed package; none where it is not installed."""
    spec = importlib.util.find_spec(name)
    folders = spec.submodule_search_locations if spec is not None else None
    return tuple(sorted(Path(folders[0]).rglob("*.py")))[::step] if folders else ()


def tree_of(source: bytes) -> ast.Module | None:
    """None for the files that are wrong on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError):
            return None
