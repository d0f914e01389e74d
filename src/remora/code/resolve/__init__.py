"""Links between nodes: who calls, imports and extends whom."""

from remora.code.resolve.indexed import IndexedFiles
from remora.code.resolve.inputs import INPUTS
from remora.code.resolve.linker import Carried, Linked, Linker
from remora.code.resolve.outliving import outlived
from remora.code.resolve.program import Program
from remora.code.resolve.solver import MOST_ANSWERS

__all__ = [
    "INPUTS",
    "MOST_ANSWERS",
    "Carried",
    "IndexedFiles",
    "Linked",
    "Linker",
    "Program",
    "outlived",
]
