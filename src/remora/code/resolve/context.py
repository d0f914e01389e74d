"""What every rule works with: the files, the modules, and the answers of other rules."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from remora.code.resolve.files import File
from remora.code.resolve.modules import Modules
from remora.code.resolve.program import Program
from remora.code.resolve.solver import Solver
from remora.code.resolve.values import Values

_MOST_WEIGHT = 150_000  # records of files that are kept decoded


class Place(NamedTuple):
    """Where a term is evaluated. `level` is how often more it may be asked who calls a function."""

    level: int
    path: str
    scope: int
    at: int


class Context(Solver):
    """A solver over the files of one program."""

    def __init__(self, program: Program, rules: Mapping[str, Callable[..., Values]]) -> None:
        super().__init__(rules)
        self.program = program
        self.modules = Modules(program.paths())
        self._files: OrderedDict[str, File | None] = OrderedDict()
        self._weight = 0

    def file(self, path: str) -> File | None:
        """A file with its indexes; None where there is none."""
        if path in self._files:
            self._files.move_to_end(path)
            return self._files[path]
        lowered = self.program.lowered(path)
        file = None if lowered is None or not lowered.scopes else File(lowered)
        self._files[path] = file
        self._weight += 0 if file is None else file.weight
        while self._weight > _MOST_WEIGHT and len(self._files) > 1:
            _, dropped = self._files.popitem(last=False)
            self._weight -= 0 if dropped is None else dropped.weight
        return file
