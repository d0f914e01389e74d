"""The context through which rules access files, modules and the answers of other rules.

Every access to the program goes through this module, which records it as an input of the current
answer. A rule that needs only part of a file depends only on that part. Values that are kept
between questions must go through `memoize`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from remora.code.callgraph import incremental
from remora.code.callgraph.abstract_values import MODULE, Value
from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.files.program_protocol import Program, linked_files
from remora.code.callgraph.incremental import (
    MentionLimit,
    input_bit,
    reexported_modules,
    star_names,
)
from remora.code.callgraph.module_lookup import ModuleLookup
from remora.code.callgraph.solver import Rule, Solver
from remora.code.ir.model import Call, unqualified_name

_CACHED_COUNTS = 50_000


class ProgramPoint(NamedTuple):
    """A point in the program at which a term is evaluated.

    `level` is the number of call levels that may still be followed to resolve a parameter.
    """

    level: int
    path: str
    scope: int
    at: int


class Context(Solver):
    """A solver for one program. It is about 50% slower if `track_inputs` is True."""

    def __init__(
        self,
        program: Program,
        rules: Mapping[str, Rule],
        files: FileCache,
        *,
        track_inputs: bool,
        max_answers: int,
    ) -> None:
        super().__init__(rules, max_answers)
        self._bit = input_bit if track_inputs else lambda *_: 0
        self._program = program = linked_files(program)
        self._modules = ModuleLookup(program.paths())
        self._files = files.for_program(program)
        self.subclass_cache: dict[str, tuple[tuple[tuple[str, int], ...], int]] = {}
        """Maps a name to the classes with a base of that name, in the form cached by `memoize`."""
        self.method_cache: dict[str, tuple[tuple[tuple[str, int], ...], int]] = {}
        """Maps a name to the keys and tiers of the methods of that name, in the same form."""
        self._star_sources: dict[str, dict[str, tuple[str, ...]]] = {}
        self._star_names: dict[str, frozenset[str]] = {}
        self._mention_counts: dict[str, int] = {}

    def check_time(self) -> None:
        self._program.check_time()

    def file(self, path: str) -> IndexedFile | None:
        """Return the indexed file, or None if it is missing or empty.

        Calling this method makes the current answer depend on the whole file.
        """
        self.inputs |= self._bit(incremental.BODY, path)
        return self._files.file(path)

    def interface_file(self, path: str) -> IndexedFile | None:
        """Return the indexed file. The calling rule must read only its `interface`."""
        self.inputs |= self._bit(incremental.INTERFACE, path)
        return self._files.file(path)

    def scope_file(self, path: str, scope: int) -> IndexedFile | None:
        """Return the indexed file. The calling rule must read only a scope and those around it."""
        file = self._files.file(path)
        in_interface = file is not None and file.is_module_level(scope)
        self._depend(path, in_interface=in_interface)
        return file

    def definition_file(self, path: str, scope: int) -> IndexedFile | None:
        """Return the indexed file. The calling rule must read only the header of one definition."""
        file = self._files.file(path)
        in_interface = file is not None and file.is_module_level(file.scopes[scope].parent)
        self._depend(path, in_interface=in_interface)
        return file

    def call(self, path: str, number: int) -> Call | None:
        """Return call `number` of a file, or None if the file is missing or empty.

        If the call is outside functions, the current answer depends only on the file's interface.
        """
        file = self._files.file(path)
        call = None if file is None else file.lowered.calls[number]
        in_interface = file is not None and call is not None and file.is_module_level(call.scope)
        self._depend(path, in_interface=in_interface)
        return call

    def _depend(self, path: str, *, in_interface: bool) -> None:
        kind = incremental.INTERFACE if in_interface else incremental.BODY
        self.inputs |= self._bit(kind, path)

    def mentioning(self, name: str) -> Collection[str]:
        """Return the paths of the files that mention a name."""
        self.inputs |= self._bit(incremental.MENTIONS, name)
        return self._program.mentioning(name)

    def is_common(self, name: str, limit: MentionLimit) -> bool:
        """Return True if more than `limit` files mention a name."""
        self.inputs |= self._bit(incremental.MENTION_COUNT, f"{limit} {name}")
        if (count := self._mention_counts.get(name)) is None:
            if len(self._mention_counts) >= _CACHED_COUNTS:
                self._mention_counts.clear()
            count = self._mention_counts[name] = len(self._program.mentioning(name))
        return count > limit

    def folder_files(self, path: str) -> Collection[str]:
        """Return the paths of all files in the folder of `path`, including `path`."""
        folder = path.rpartition("/")[0]
        self.inputs |= self._bit(incremental.FOLDER, folder)
        return {p for p in self._program.paths() if p.rpartition("/")[0] == folder}

    def aliases(self, name: str, path: str | None = None) -> Collection[str]:
        """Return the names under which `name` is imported, in all files or only in `path`."""
        self.inputs |= self._bit(incremental.ALIAS, name)
        paths = self._program.mentioning(name) if path is None else (path,)
        files = map(self._files.file, paths)
        return {alias for file in files if file is not None for alias in file.aliases.get(name, ())}

    def resolve_import(self, path: str, level: int, dotted: str) -> Value | None:
        """Return the project module that an import in `path` loads, or None."""
        self._depend_on_module(dotted)
        return self._resolve_import(path, level, dotted)

    def submodule(self, value: Value, name: str) -> Value | None:
        """Return the submodule `name` of a package or namespace, or None."""
        self._depend_on_module(name)
        return self._modules.submodule(value, name)

    def is_project_module(self, dotted: str) -> bool:
        self._depend_on_module(dotted.partition(".")[0])
        return self._modules.is_project_module(dotted)

    def _depend_on_module(self, dotted: str) -> None:
        self.inputs |= self._bit(incremental.MODULE, unqualified_name(dotted))

    def star_sources(self, path: str, name: str) -> Collection[str]:
        """Return the paths of the modules from which a file imports `name` with `import *`."""
        self.inputs |= self._bit(incremental.STAR_NAME, name)
        self.inputs |= self._bit(incremental.STAR_MODULES)
        return self._all_star_sources(path).get(name, ())

    def _resolve_import(self, path: str, level: int, dotted: str) -> Value | None:
        lookup = self._modules
        return lookup.relative(path, level, dotted) if level else lookup.absolute(path, dotted)

    def _all_star_sources(self, path: str) -> Mapping[str, tuple[str, ...]]:
        if (known := self._star_sources.get(path)) is None:
            sources: dict[str, dict[str, None]] = {}
            for module in self._star_modules(path):
                for name in self._names_by_star(module):
                    sources.setdefault(name, {})[module] = None
            known = {name: tuple(modules) for name, modules in sources.items()}
            self._star_sources[path] = known
        return known

    def _names_by_star(self, path: str) -> Collection[str]:
        """Return the names that `from path import *` binds. Cyclic re-exports are handled."""
        if path not in self._star_names:
            sources: dict[str, list[str]] = {}
            pending = [path]
            while pending:
                if (module := pending.pop()) not in sources:
                    sources[module] = self._reexported(module)
                    pending += sources[module]
            self._star_names.update(self._spread_star_names(sources))
        return self._star_names[path]

    def _spread_star_names(self, sources: Mapping[str, list[str]]) -> Mapping[str, frozenset[str]]:
        """Return the exported names of each module, including names that it re-exports.

        `sources` maps each module to the modules that it re-exports.
        """
        exported: dict[str, set[str]] = {}
        for module in sources:
            file = self._files.file(module)
            exported[module] = set() if file is None else set(star_names(file.lowered))
        grows = True
        while grows:
            grows = False
            for module, exported_again in sources.items():
                file = self._files.file(module)
                has_all = file is not None and file.lowered.exports is not None
                offered = {name for other in exported_again for name in exported[other]}
                names = {name for name in offered if has_all or not name.startswith("_")}
                if not names <= exported[module]:
                    exported[module] |= names
                    grows = True
        return {module: frozenset(names) for module, names in exported.items()}

    def _star_modules(self, path: str) -> list[str]:
        file = self._files.file(path)
        return self._module_paths(path, file.lowered.stars) if file is not None else []

    def _reexported(self, path: str) -> list[str]:
        file = self._files.file(path)
        return self._module_paths(path, reexported_modules(file.lowered)) if file else []

    def _module_paths(self, path: str, sources: Iterable[tuple[int, str]]) -> list[str]:
        found = [self._resolve_import(path, *source) for source in sources]
        return [value[1] for value in found if value is not None and value[0] == MODULE]
