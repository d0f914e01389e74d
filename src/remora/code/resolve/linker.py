"""Who calls whom: every question is answered backward from the place that is asked about."""

from collections.abc import Iterable, Sequence

from remora.code.edges import TIERS, Edge
from remora.code.lowered import CLASS_SCOPE, IMPORT, IMPORT_FROM, Call, Read, Store
from remora.code.resolve.carriers import Carriers
from remora.code.resolve.context import Context
from remora.code.resolve.files import File
from remora.code.resolve.indexed import IndexedFiles
from remora.code.resolve.program import Program
from remora.code.resolve.rules import RULES
from remora.code.resolve.sites import Targets, call_targets, read_targets, store_targets
from remora.code.resolve.values import MODULE
from remora.ids import MODULE as MODULE_NAME
from remora.ids import node_key, split_node_key

CALL, READ, STORE = range(3)
Site = tuple[str, int, int]
Found = dict[str, tuple[int, set[int]]]


class Linker:
    """Links of one state of a program; what was found once is remembered.

    `files` are those of the linker of the state before, if there was one; it is not asked any more.
    """

    def __init__(self, program: Program, files: IndexedFiles | None = None) -> None:
        self._program = program
        self._ctx = Context(program, RULES, IndexedFiles() if files is None else files)
        self._carriers = Carriers(self._ctx)
        self._targets: dict[Site, Targets] = {}
        self._callees: dict[str, tuple[Edge, ...]] = {}
        self._callers: dict[str, tuple[Edge, ...]] = {}

    def callees(self, key: str) -> tuple[Edge, ...]:
        """What a node calls; nothing for an unknown one."""
        if key not in self._callees:
            self._callees[key] = self._find_callees(key)
        return self._callees[key]

    def callers(self, key: str) -> tuple[Edge, ...]:
        """Which nodes call it: exactly those among whose callees it is."""
        if key not in self._callers:
            self._callers[key] = self._find_callers(key)
        return self._callers[key]

    def importers(self, key: str) -> tuple[Edge, ...]:
        """Modules that import the node, or the module."""
        file, qualname = self._node(key)
        if file is None:
            return ()
        found: Found = {}
        for path in self._program.mentioning(_imported_as(file.path, qualname)):
            other = self._ctx.file(path)
            if other is not None and path != file.path and self._imports(other, file, qualname):
                found[node_key(path)] = (0, set())
        return _edges(found)

    def subclasses(self, key: str) -> tuple[Edge, ...]:
        """Classes that derive from it, directly or not."""
        file, qualname = self._node(key)
        number = None if file is None else file.nodes[qualname]
        if file is None or number is None or file.scopes[number].kind != CLASS_SCOPE:
            return ()
        found: Found = {}
        for value, tier in self._ctx.solve(("derived", file.path, number)):
            other = self._ctx.file(value[1])
            if other is not None:
                found[node_key(value[1], other.scopes[value[2]].qualname)] = (tier, set())
        return _edges(found)

    def _node(self, key: str) -> tuple[File | None, str]:
        path, qualname = split_node_key(key)
        file = self._ctx.file(path)
        known = file is not None and qualname in file.nodes and key.startswith("node:")
        return (file if known else None), qualname

    def _find_callees(self, key: str) -> tuple[Edge, ...]:
        file, qualname = self._node(key)
        if file is None:
            return ()
        found: Found = {}
        for kind, numbers in enumerate(file.sites_by_owner.get(qualname, ())):
            for number in numbers:
                line = _record(file, kind, number).line
                site = (file.path, kind, number)
                for target, tier in self._site(site).items():
                    if self._is_followed(target, site):
                        _note(found, target, tier, line)
        return _edges(found)

    def _is_followed(self, target: str, site: Site) -> bool:
        """Whether `callers` of the target would look at the site."""
        file, qualname = self._node(target)
        return file is None or self._carriers.admits(file, file.nodes[qualname], site)

    def _find_callers(self, key: str) -> tuple[Edge, ...]:
        file, qualname = self._node(key)
        if file is None:
            return ()
        found: Found = {}
        for site in self._carriers.sites(file, file.nodes[qualname]):
            targets = self._site(site)
            other = self._ctx.file(site[0])
            if key in targets and other is not None:
                record = _record(other, site[1], site[2])
                owner = node_key(other.path, other.scopes[record.scope].qualname)
                _note(found, owner, targets[key], record.line)
        return _edges(found)

    def _site(self, site: Site) -> Targets:
        if site not in self._targets:
            path, kind, number = site
            if kind == CALL:
                self._targets[site] = call_targets(self._ctx, path, number)
            elif kind == STORE:
                self._targets[site] = store_targets(self._ctx, path, number)
            else:
                self._targets[site] = self._read(path, number)
        return self._targets[site]

    def _read(self, path: str, number: int) -> Targets:
        file = self._ctx.file(path)
        if file is None:
            return {}
        read = file.lowered.reads[number]
        return read_targets(self._ctx, path, read.scope, read.at, read.term)

    def _imports(self, other: File, file: File, qualname: str) -> bool:
        for number, scope in enumerate(other.scopes):
            for name, binds in scope.binds.items():
                for index, bind in enumerate(binds):
                    if bind.kind not in {IMPORT, IMPORT_FROM}:
                        continue
                    asked = ("bind", 0, other.path, number, name, index)
                    values = [value for value, _ in self._ctx.solve(asked)]
                    if any(_is(value, file, qualname) for value in values):
                        return True
        return False


def _is(value: tuple[object, ...], file: File, qualname: str) -> bool:
    if len(value) < 2 or value[1] != file.path:
        return False
    if qualname == MODULE_NAME:
        return value[0] == MODULE
    return len(value) > 2 and value[2] == file.nodes[qualname]


def _imported_as(path: str, qualname: str) -> str:
    if qualname != MODULE_NAME:
        return qualname.rpartition(".")[2].partition("#")[0]
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _record(file: File, kind: int, number: int) -> Call | Read | Store:
    lowered = file.lowered
    records: tuple[Sequence[Call | Read | Store], ...] = (
        lowered.calls,
        lowered.reads,
        lowered.stores,
    )
    return records[kind][number]


def _note(found: Found, key: str, tier: int, line: int) -> None:
    known, lines = found.setdefault(key, (tier, set()))
    lines.add(line)
    if tier < known:
        found[key] = (tier, lines)


def _edges(found: Found) -> tuple[Edge, ...]:
    order: Iterable[tuple[int, str]] = sorted((tier, key) for key, (tier, _) in found.items())
    return tuple(
        Edge(key=key, tier=TIERS[tier], lines=tuple(sorted(found[key][1]))) for tier, key in order
    )
