"""Protocol through which the linker accesses the files of a project."""

from collections.abc import Collection
from typing import Protocol

from remora.code.ir.model import LoweredFile
from remora.ids import STUB, module_path


class OutOfTimeError(Exception):
    """A computation took too long.

    The linker raises it between two steps, and a program with a time limit in any method.
    """


class Program(Protocol):
    """One state of a project's Python files. Paths are escaped as in node keys."""

    def check_time(self) -> None:
        """Raise OutOfTimeError if the current computation takes too long."""

    def paths(self) -> Collection[str]:
        """Return the paths of all Python files."""

    def lowered(self, path: str) -> LoweredFile | None:
        """Return the IR of a file, or None if there is no such file."""

    def mentioning(self, name: str) -> Collection[str]:
        """Return the paths of the files whose `names` include `name`."""


def linked_files(program: Program) -> Program:
    """Return a program without its `unlinked_stubs`."""
    stubs = unlinked_stubs(program.paths())
    return _WithoutFiles(program, stubs) if stubs else program


def unlinked_stubs(paths: Collection[str]) -> frozenset[str]:
    """Return the stubs that take no part in the call graph.

    A stub takes part if it is all there is of a module of the project: no `.py` file has its name,
    but others are in its folder, or in that of its package. Example: `_rust.pyi` beside `render.py`
    describes an extension module, but `stubs/vobject/__init__.pyi` another project. Stubs beside a `.py` file would make
    its names ambiguous. This is right for the 13 stubs without a `.py` file in 200 packages.
    """
    stubs = [path for path in paths if path.endswith(STUB)]
    known = frozenset(paths) if stubs else frozenset()
    folders = {path.rpartition("/")[0] for path in known if not path.endswith(STUB)}
    return frozenset(
        stub
        for stub in stubs
        if stub.removesuffix("/__init__.pyi").rpartition("/")[0] not in folders
        or not known.isdisjoint((module_path(stub), f"{stub.removesuffix(STUB)}/__init__.py"))
    )


class _WithoutFiles:
    """A program without some of its files."""

    def __init__(self, program: Program, left_out: frozenset[str]) -> None:
        self._program = program
        self._left_out = left_out
        self._paths = frozenset(program.paths()) - left_out

    def check_time(self) -> None:
        self._program.check_time()

    def paths(self) -> Collection[str]:
        return self._paths

    def lowered(self, path: str) -> LoweredFile | None:
        return None if path in self._left_out else self._program.lowered(path)

    def mentioning(self, name: str) -> Collection[str]:
        return tuple(path for path in self._program.mentioning(name) if path in self._paths)
