"""Replacement of a function's code with the code of a mutant, without importing its module again."""

from __future__ import annotations

import gc
import os
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, FunctionType
from typing import Any, Callable, Container, Iterator, List, Set, Tuple


def functions_at(path: str, qualname: str, first: int, last: int) -> List[FunctionType]:
    """Return the function objects that were defined between two lines of the file `path`."""
    name = qualname.rpartition(".")[2]
    found: List[FunctionType] = []
    for candidate in gc.get_objects():
        if type(candidate) is not FunctionType:
            continue
        code = candidate.__code__
        if (
            code.co_name == name
            and first <= code.co_firstlineno <= last
            and os.path.realpath(code.co_filename) == path
        ):
            found.append(candidate)
    return found


def mutated_code(text: str, path: str, qualname: str) -> CodeType | None:
    """Return the code of the last definition of a function in the source `text`."""
    codes = [compile(text, path, "exec")]
    for name in qualname.split("."):
        codes = [inner for code in codes for inner in _inner(code) if inner.co_name == name][-1:]
    return codes[0] if codes else None


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Yield code objects defined in `code`. Code of type parameters is looked through."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_name.startswith("<generic parameters"):
                yield from _inner(const)
            else:
                yield const


def swap(functions: List[FunctionType], code: CodeType | None) -> bool:
    """Give the functions another code. Return False, without any change, if that is not possible."""
    if code is None or not functions:
        return False
    before = [function.__code__ for function in functions]
    try:
        for function in functions:
            function.__code__ = code
    except ValueError:  # another number of variables of enclosing functions
        for number, function in enumerate(functions):
            function.__code__ = before[number]
        return False
    return True


def on_import(
    paths: Container[str], imported: Callable[[str], object]
) -> Set[Tuple[str, int, str]]:
    """Call `imported` with the path of each of some files that is imported from now on.

    Return a set that gets the file, first line and name of what is called while they are imported.
    """
    execute, called = SourceFileLoader.exec_module, set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            called.add((code.co_filename, code.co_firstlineno, code.co_name))

    def exec_module(loader: SourceFileLoader, module: Any) -> None:
        path, before = os.path.realpath(loader.path), sys.getprofile()
        sys.setprofile(note if path in paths else before)
        try:
            execute(loader, module)
        finally:
            sys.setprofile(before)
        if path in paths:
            imported(path)

    SourceFileLoader.exec_module = exec_module  # type: ignore[method-assign, assignment]
    return called


def is_imported(path: str) -> bool:
    """Return True if a module comes from the file `path`."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return any(isinstance(file, str) and os.path.realpath(file) == path for file in files)
