"""Protocol through which the linker accesses the files of a project."""

from collections.abc import Collection
from typing import Protocol

from remora.code.ir.model import LoweredFile


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
