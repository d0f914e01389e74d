"""Parsing and compiling of Python text, in one thread at a time."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, overload

from remora.ids import STUB

NOTEBOOK = ".ipynb"
"""Suffix of notebooks, which are named, but not read."""
ONLY_COUNTED = {NOTEBOOK: ("notebook", "read"), STUB: ("stub", "check")}
"""Files that runs only count, by suffix: what they are, and what Remora does not do with them."""

# Before 3.11.8 and 3.12.2, CPython counts the depth of a new tree for all threads together, so that
# `ast.parse` in two threads can raise SystemError (its issue 106905). Besides, `catch_warnings`
# changes process-wide state.
_LOCK = threading.RLock()


@contextmanager
def without_warnings() -> Iterator[None]:
    """Hide Python's warnings about the text that is parsed or compiled in the block."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@overload
def parse(text: str | bytes, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parse(text: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
def parse(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """Like `ast.parse`, without warnings."""
    with without_warnings():
        return ast.parse(text, mode=mode)  # noqa: TID251 - this is the one place


def literal(text: str) -> Any:
    """Like `ast.literal_eval` of a text."""
    return ast.literal_eval(parse(text.lstrip(" \t"), "eval"))


def is_notebook(path: str | Path) -> bool:
    """Return True if a path has the suffix of a notebook, in any case."""
    return str(path).lower().endswith(NOTEBOOK)


def is_only_counted(path: str) -> bool:
    """Return True if runs only count a file, and do not read it."""
    return path.lower().endswith(tuple(ONLY_COUNTED))
