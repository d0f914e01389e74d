"""What every rule works with: the files, the modules, and the answers of other rules.

Everything that is looked at in the program goes through here and is noted, so that each answer knows
its inputs. Whoever asks for less than a whole file keeps to less. What is kept between questions is
kept by `remembered`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from remora.code.callgraph.abstract_values import MODULE, Value, Values
from remora.code.callgraph.files import answer_inputs
from remora.code.callgraph.files.answer_inputs import Crowd, bit
from remora.code.callgraph.files.file_cache import IndexedFiles
from remora.code.callgraph.files.invalidation import given_on, public
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.module_lookup import Modules
from remora.code.callgraph.solver import MOST_ANSWERS, Solver
from remora.code.ir.model import Call, unqualified_name


class Place(NamedTuple):
    """Where a term is evaluated. `level` is how often more it may be asked who calls a function."""

    level: int
    path: str
    scope: int
    at: int


def _nothing(_kind: str, _name: str = "") -> int:
    return 0


class Context(Solver):
    """A solver over the files of one program; without `noting`, which costs half as much again, no
    inputs are noted."""

    def __init__(
        self,
        program: Program,
        rules: Mapping[str, Callable[..., Values]],
        files: IndexedFiles,
        *,
        noting: bool,
        most: int = MOST_ANSWERS,
    ) -> None:
        super().__init__(rules, most)
        self._bit = bit if noting else _nothing
        self._program = program
        self._modules = Modules(program.paths())
        self._files = files.of(program)
        self._imported: dict[tuple[str, int, str], Value | None] = {}
        self.deriving: dict[str, tuple[tuple[tuple[str, int], ...], int]] = {}
        """Name → classes that have a base of that name, as `remembered`."""
        self._starred: dict[str, dict[str, tuple[str, ...]]] = {}
        self._given: dict[str, frozenset[str]] = {}

    def file(self, path: str) -> File | None:
        """A file with its indexes; None where there is none."""
        self.inputs |= self._bit(answer_inputs.BODY, path)
        return self._files.file(path)

    def surface(self, path: str) -> File | None:
        """The same for who looks at nothing in it but what `outline` tells."""
        self.inputs |= self._bit(answer_inputs.OUTLINE, path)
        return self._files.file(path)

    def around(self, path: str, scope: int) -> File | None:
        """The same for who looks at nothing but one scope and those around it."""
        file = self._files.file(path)
        is_outer = file is not None and file.is_outer(scope)
        self.inputs |= self._bit(answer_inputs.OUTLINE if is_outer else answer_inputs.BODY, path)
        return file

    def head(self, path: str, scope: int) -> File | None:
        """The same for who looks at nothing but the head of a definition, and those around it."""
        file = self._files.file(path)
        is_outer = file is not None and file.is_outer(file.scopes[scope].parent)
        self.inputs |= self._bit(answer_inputs.OUTLINE if is_outer else answer_inputs.BODY, path)
        return file

    def call(self, path: str, number: int) -> Call | None:
        """One call of a file, which may stand outside of functions."""
        file = self._files.file(path)
        call = None if file is None else file.lowered.calls[number]
        is_outer = file is not None and call is not None and file.is_outer(call.scope)
        self.inputs |= self._bit(answer_inputs.OUTLINE if is_outer else answer_inputs.BODY, path)
        return call

    def mentioning(self, name: str) -> Collection[str]:
        """Paths of the files that mention a name."""
        self.inputs |= self._bit(answer_inputs.MENTIONS, name)
        return self._program.mentioning(name)

    def crowded(self, name: str, most: Crowd) -> bool:
        """Whether more than `most` files mention a name."""
        self.inputs |= self._bit(answer_inputs.CROWD, f"{most} {name}")
        return len(self._program.mentioning(name)) > most

    def beside(self, path: str) -> Collection[str]:
        """Paths of the files in the same folder, itself among them."""
        folder = path.rpartition("/")[0]
        self.inputs |= self._bit(answer_inputs.FOLDER, folder)
        return {p for p in self._program.paths() if p.rpartition("/")[0] == folder}

    def aliases(self, name: str, path: str | None = None) -> Collection[str]:
        """Other names that files, or the one at `path`, give what they import as `name`."""
        self.inputs |= self._bit(answer_inputs.ALIAS, name)
        paths = self._program.mentioning(name) if path is None else (path,)
        files = (self._files.file(each) for each in paths)
        return {alias for file in files if file is not None for alias in file.aliases.get(name, ())}

    def imported(self, path: str, level: int, dotted: str) -> Value | None:
        """The module that an import in `path` names; None where it is not of the project."""
        self._note_module(dotted)
        return self._resolved(path, level, dotted)

    def inside(self, value: Value, name: str) -> Value | None:
        """The submodule `name` of a package or namespace."""
        self._note_module(name)
        return self._modules.inside(value, name)

    def is_ours(self, dotted: str) -> bool:
        """Whether the first part of `dotted` is a module of the project."""
        self._note_module(dotted.partition(".")[0])
        return self._modules.is_ours(dotted)

    def _note_module(self, dotted: str) -> None:
        self.inputs |= self._bit(answer_inputs.MODULE, unqualified_name(dotted))

    def starred(self, path: str, name: str) -> Collection[str]:
        """Paths of the modules from which the star imports of a file give it the name."""
        self.inputs |= self._bit(answer_inputs.STAR, name) | self._bit(answer_inputs.STARS)
        return self._all_starred(path).get(name, ())

    def _resolved(self, path: str, level: int, dotted: str) -> Value | None:
        asked = (path, level, dotted)
        if asked not in self._imported:
            find = self._modules
            found = find.relative(*asked) if level else find.absolute(path, dotted)
            self._imported[asked] = found
        return self._imported[asked]

    def _all_starred(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Names that the star imports of a file give it, and from which modules."""
        known = self._starred.get(path)
        if known is None:
            sources: dict[str, dict[str, None]] = {}
            for module in self._star_modules(path):
                for name in self._public(module):
                    sources.setdefault(name, {})[module] = None
            known = {name: tuple(found) for name, found in sources.items()}
            self._starred[path] = known
        return known

    def _public(self, path: str) -> Collection[str]:
        """What `from path import *` gives; files may give each other their names in circles."""
        if path not in self._given:
            taken: dict[str, list[str]] = {}
            waiting = [path]
            while waiting:
                if (module := waiting.pop()) not in taken:
                    taken[module] = self._taken_in(module)
                    waiting += taken[module]
            self._given.update(self._handed_on(taken))
        return self._given[path]

    def _handed_on(self, taken: Mapping[str, list[str]]) -> Mapping[str, frozenset[str]]:
        """By module what it gives, where `taken` are those whose names each gives on."""
        given: dict[str, set[str]] = {}
        for module in taken:
            file = self._files.file(module)
            given[module] = set() if file is None else set(public(file.lowered))
        grows = True
        while grows:
            grows = False
            for module, sources in taken.items():
                file = self._files.file(module)
                every = file is not None and file.lowered.exports is not None
                offered = {n for each in sources for n in given[each]}
                names = {n for n in offered if every or not n.startswith("_")}
                if not names <= given[module]:
                    given[module] |= names
                    grows = True
        return {module: frozenset(names) for module, names in given.items()}

    def _star_modules(self, path: str) -> list[str]:
        file = self._files.file(path)
        return self._modules_of(path, file.lowered.stars) if file is not None else []

    def _taken_in(self, path: str) -> list[str]:
        """Paths of the modules whose names `import *` of one gives too."""
        file = self._files.file(path)
        return self._modules_of(path, given_on(file.lowered)) if file is not None else []

    def _modules_of(self, path: str, sources: Iterable[tuple[int, str]]) -> list[str]:
        found = [self._resolved(path, *source) for source in sources]
        return [value[1] for value in found if value is not None and value[0] == MODULE]
