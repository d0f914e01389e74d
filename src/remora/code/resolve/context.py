"""What every rule works with: the files, the modules, and the answers of other rules."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from remora.code.resolve.files import File
from remora.code.resolve.indexed import IndexedFiles
from remora.code.resolve.modules import Modules
from remora.code.resolve.program import Program
from remora.code.resolve.solver import Solver
from remora.code.resolve.values import MODULE, Value, Values


class Place(NamedTuple):
    """Where a term is evaluated. `level` is how often more it may be asked who calls a function."""

    level: int
    path: str
    scope: int
    at: int


class Context(Solver):
    """A solver over the files of one program."""

    def __init__(
        self,
        program: Program,
        rules: Mapping[str, Callable[..., Values]],
        files: IndexedFiles,
    ) -> None:
        super().__init__(rules)
        self.program = program
        self.modules = Modules(program.paths())
        self._files = files
        files.turn_to(program)
        self.deriving: dict[str, tuple[tuple[str, int], ...]] = {}
        """Name → classes that have a base of that name."""
        self._aliases: dict[str, Mapping[str, Collection[str]]] = {}
        self._imported: dict[tuple[str, int, str], Value | None] = {}
        self._starred: dict[str, dict[str, tuple[str, ...]]] = {}

    def file(self, path: str) -> File | None:
        """A file with its indexes; None where there is none."""
        return self._files.file(path)

    def aliases(self, path: str, name: str) -> Collection[str]:
        """Other names that a file gives what it imports as `name`."""
        known = self._aliases.get(path)
        if known is None:
            file = self.file(path)
            known = self._aliases[path] = {} if file is None else file.aliases
        return known.get(name, ())

    def imported(self, path: str, level: int, dotted: str) -> Value | None:
        """The module that an import in `path` names; None where it is not of the project."""
        asked = (path, level, dotted)
        if asked not in self._imported:
            find = self.modules
            found = find.relative(*asked) if level else find.absolute(path, dotted)
            self._imported[asked] = found
        return self._imported[asked]

    def starred(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Names that the star imports of a file give it, and from which modules."""
        known = self._starred.get(path)
        if known is None:
            self._starred[path] = {}  # two files may star each other
            sources: dict[str, dict[str, None]] = {}
            for module in self._star_modules(path):
                for name in self._public(module):
                    sources.setdefault(name, {})[module] = None
            known = {name: tuple(found) for name, found in sources.items()}
            self._starred[path] = known
        return known

    def _star_modules(self, path: str) -> list[str]:
        file = self.file(path)
        found = [self.imported(path, *star) for star in (file.lowered.stars if file else ())]
        return [value[1] for value in found if value is not None and value[0] == MODULE]

    def _public(self, path: str) -> Iterable[str]:
        """What `from path import *` gives."""
        file = self.file(path)
        if file is None:
            return ()
        if file.lowered.exports is not None:
            return file.lowered.exports
        own = (*file.scopes[0].binds, *self.starred(path))
        return [name for name in own if not name.startswith("_")]
