"""Who calls whom: every question is answered backward from the place that is asked about."""

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from remora.code.callgraph.abstract_values import CLASS, FUNCTION, MODULE, Values
from remora.code.callgraph.callers.aliases import CALL, STORE, Carriers, Site
from remora.code.callgraph.context import Context
from remora.code.callgraph.files.file_cache import IndexedFiles
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.names.call_targets import (
    Targets,
    call_targets,
    read_targets,
    store_targets,
)
from remora.code.callgraph.names.imported_names import imported_as, imports_of
from remora.code.callgraph.rules.rule_table import RULES
from remora.code.callgraph.solver import MOST_ANSWERS
from remora.code.ir.model import CLASS_SCOPE, AttributeRead, AttributeWrite, Call
from remora.code.links import TIERS, Edge
from remora.ids import MODULE as MODULE_NAME
from remora.ids import node_key, split_node_key

_MOST_SITES = 3_000
"""Places in the code of which it is kept what is called there."""
Found = dict[str, tuple[int, set[int]]]


class Linked(NamedTuple):
    """What a node calls, and a module imports; `inputs` says what of the program that was found
    from, see `touched`. An import has no lines."""

    calls: tuple[Edge, ...]
    imports: tuple[Edge, ...]
    inputs: int


class Carried(NamedTuple):
    """All names that lead to a node, as a hash, and what that was found from."""

    names: bytes
    inputs: int


class Linker:
    """Links of one state of a program; what was found once is remembered.

    `files` may be shared with others. Only with `noting` it can say from which inputs links were
    found: `linked`, `carried`. `most` answers to what lies behind a question are remembered.
    """

    def __init__(
        self,
        program: Program,
        files: IndexedFiles | None = None,
        *,
        noting: bool = False,
        most: int = MOST_ANSWERS,
    ) -> None:
        kept = IndexedFiles() if files is None else files
        self._ctx = Context(program, RULES, kept, noting=noting, most=most)
        self._carriers = Carriers(self._ctx)
        self._targets: dict[Site, tuple[Targets, int]] = {}
        self._callees: dict[str, tuple[tuple[Edge, ...], int]] = {}
        self._callers: dict[str, tuple[tuple[Edge, ...], int]] = {}
        self._imported: dict[str, tuple[frozenset[str], int]] = {}

    def callees(self, key: str) -> tuple[Edge, ...]:
        """What a node calls; nothing for an unknown one."""
        self._make_room()
        return self._ctx.remembered(self._callees, key, lambda: self._find_callees(key))

    def callers(self, key: str) -> tuple[Edge, ...]:
        """Which nodes call it: exactly those among whose callees it is."""
        self._make_room()
        return self._ctx.remembered(self._callers, key, lambda: self._find_callers(key))

    def linked(self, key: str) -> Linked:
        """What a node calls and imports, and from which inputs that was found."""
        self._ctx.inputs = 0
        calls = self.callees(key)
        path, qualname = split_node_key(key)
        imports = self._imports(path) if qualname == MODULE_NAME else frozenset()
        edges = tuple(Edge(key=each, tier=TIERS[0], lines=()) for each in sorted(imports))
        return Linked(calls, edges, self._ctx.inputs)

    @property
    def decisive(self) -> Set[str]:
        """Keys of the nodes whose `carried` names decided something in what was `linked`."""
        return self._carriers.decisive

    def carried(self, key: str) -> Carried:
        """By which names a node may be reached; without one there are none."""
        self._ctx.inputs = 0
        file, qualname = self._node(key)
        names = b"" if file is None else self._carriers.told(file, file.nodes[qualname])
        return Carried(names, self._ctx.inputs)

    def importers(self, key: str) -> tuple[Edge, ...]:
        """Modules that import the node, or the module: exactly those among whose imports it is."""
        file, qualname = self._node(key)
        if file is None:
            return ()
        found: Found = {}
        for path in self._ctx.mentioning(imported_as(file.path, qualname)):
            if key in self._imports(path):
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

    def constructor(self, key: str) -> str | None:
        """The first `__init__` of the program in the MRO of a class; None where there is none."""
        file, qualname = self._node(key)
        if file is None or file.scopes[file.nodes[qualname]].kind != CLASS_SCOPE:
            return None
        asked = ("class_attribute", 0, file.path, file.nodes[qualname], "__init__")
        return self._first(self._ctx.solve(asked), {FUNCTION})

    def imported(self, dotted: str) -> str | None:
        """What `pkg.Name` is in `pkg`, a module of the program that has it from elsewhere too; None
        where that is no function and no class of the program."""
        module, _, name = dotted.rpartition(".")
        found = self._ctx.imported("", 0, module) if module else None
        if found is None or found[0] != MODULE:
            return None
        return self._first(self._ctx.solve(("export", 0, found[1], name)), {FUNCTION, CLASS})

    def _first(self, values: Values, kinds: Set[str]) -> str | None:
        for value, _ in values:
            other = self._ctx.file(value[1]) if value[0] in kinds else None
            if other is not None:
                return node_key(other.path, other.scopes[value[2]].qualname)
        return None

    def _make_room(self) -> None:
        """What was found for other questions can be found again."""
        if len(self._targets) > _MOST_SITES:
            for kept in (self._targets, self._callees, self._callers):
                kept.clear()

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
        path, qualname = split_node_key(target)
        if not target.startswith("node:"):
            return True
        file = self._ctx.surface(path)
        if file is None or qualname not in file.nodes:
            return True
        number = file.nodes[qualname]
        self._ctx.head(path, number)
        return self._carriers.admits(file, number, site)

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
        def find() -> Targets:
            path, kind, number = site
            if kind == CALL:
                return call_targets(self._ctx, path, number)
            if kind == STORE:
                return store_targets(self._ctx, path, number)
            return self._read(path, number)

        return self._ctx.remembered(self._targets, site, find)

    def _read(self, path: str, number: int) -> Targets:
        file = self._ctx.file(path)
        if file is None:
            return {}
        read = file.lowered.reads[number]
        return read_targets(self._ctx, path, read.scope, read.at, read.term)

    def _imports(self, path: str) -> frozenset[str]:
        """Keys of the nodes that a file imports by a name it mentions."""
        return self._ctx.remembered(
            self._imported, path, lambda: frozenset(imports_of(self._ctx, path))
        )


def _record(file: File, kind: int, number: int) -> Call | AttributeRead | AttributeWrite:
    lowered = file.lowered
    records: tuple[Sequence[Call | AttributeRead | AttributeWrite], ...] = (
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
