"""Links between nodes: who calls, imports and extends whom."""

from remora.code.resolve.indexed import IndexedFiles
from remora.code.resolve.linker import Linker
from remora.code.resolve.program import Program

__all__ = ["IndexedFiles", "Linker", "Program"]
