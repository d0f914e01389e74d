"""What the linker needs to be told of the files of a project."""

from collections.abc import Collection
from typing import Protocol

from remora.code.ir.model import LoweredFile


class Program(Protocol):
    """One state of a project's Python files. Paths are spelled as in node keys."""

    def paths(self) -> Collection[str]:
        """Every Python file."""

    def lowered(self, path: str) -> LoweredFile | None:
        """One of them for the linker; None where there is no such file."""

    def mentioning(self, name: str) -> Collection[str]:
        """Paths of the files whose `names` hold it."""
