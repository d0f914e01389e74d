"""On-demand queries for the callees, callers, importers and subclasses of a node."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from remora.code.callgraph.abstract_values import CLASS, FUNCTION, INSTANCE, MODULE, Value, Values
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.callers.aliases import AliasSearch, Site
from remora.code.callgraph.callers.uses import Use, UseSearch
from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.incremental import AliasDigest
from remora.code.callgraph.names.call_targets import (
    Targets,
    call_targets,
    read_targets,
    store_targets,
)
from remora.code.callgraph.rules import (
    attribute_writes,
    call_results,
    call_rules,
    class_attributes,
    containers,
    hierarchy,
    points_to,
)
from remora.code.callgraph.solver import MAX_ANSWERS
from remora.code.ir.model import CLASS_SCOPE, IMPORT, IMPORT_FROM, Binding, unqualified_name
from remora.code.links import TIERS, Edge, Kind
from remora.ids import MODULE as MODULE_NAME
from remora.ids import module_path, node_key, split_node_key

_MAX_CACHED_SITES = 3_000  # call sites whose targets are cached
EdgeLines = dict[str, tuple[int, set[int]]]
"""Maps each node key to its tier and lines."""


def _term(ctx: Context, level: int, path: str, scope: int, at: int, term: Any) -> Values:
    """Return the values of a term at a program point."""
    return points_to.evaluate(ctx, ProgramPoint(level, path, scope, at), term)


_RULES: Mapping[str, Callable[..., Values]] = {
    "term": _term,
    "bind": points_to.bind,
    "export": points_to.export,
    "param": call_rules.parameter,
    "callee": call_rules.callee,
    "call": call_results.result_of_call,
    "result": call_results.result,
    "returns": call_results.returns,
    "yields": call_results.yields,
    "argument": call_rules.argument,
    "field": call_rules.field,
    "call_sites": call_rules.call_sites,
    "member": class_attributes.member,
    "self_member": class_attributes.self_member,
    "annotated_member": class_attributes.annotated_member,
    "item": containers.item,
    "each": containers.each,
    "entered": containers.entered,
    "mro": hierarchy.mro,
    "bases": hierarchy.bases_of,
    "derived": hierarchy.derived,
    "class_attribute": class_attributes.class_attribute,
    "constructors": class_attributes.constructors,
    "accessor": class_attributes.accessor,
    "accessors": class_attributes.accessors,
    "subclass_attribute": class_attributes.subclass_attribute,
    "inheriting": class_attributes.inheriting,
    "stores": attribute_writes.attribute_stores,
    "outer_stores": attribute_writes.outer_stores,
    "function_stores": attribute_writes.function_stores,
    "special": class_attributes.special,
    "dispatched": class_attributes.dispatched,
}
"""Maps the name of each question to its rule."""


class NodeLinks(NamedTuple):
    """The callees, imports and uses of a node, and the inputs that they depend on.

    `imports` is empty unless the node is a module. The edges in `imports` have no line numbers.
    """

    calls: tuple[Edge, ...]
    imports: tuple[Edge, ...]
    uses: tuple[Edge, ...]
    inputs: int


class Linker:
    """Answers call graph queries for one state of a program.

    `max_answers` limits the number of answers that the solver caches.
    """

    def __init__(
        self,
        program: Program,
        files: FileCache | None = None,
        *,
        track_inputs: bool = False,
        max_answers: int = MAX_ANSWERS,
    ) -> None:
        cache = FileCache() if files is None else files
        self._ctx = Context(
            program, _RULES, cache, track_inputs=track_inputs, max_answers=max_answers
        )
        self._aliases = AliasSearch(self._ctx)
        self._uses = UseSearch(self._ctx, self._aliases.search_scope)
        self._targets: dict[Site, tuple[Targets, int]] = {}
        self._callees: dict[str, tuple[tuple[Edge, ...], int]] = {}
        self._callers: dict[str, tuple[tuple[Edge, ...], int]] = {}
        self._imports: dict[str, tuple[frozenset[str], int]] = {}

    def callees(self, key: str) -> tuple[Edge, ...]:
        self._limit_cache()
        return self._ctx.memoize(self._callees, key, lambda: self._find_callees(key))

    def callers(self, key: str) -> tuple[Edge, ...]:
        """Return the nodes that call a node.

        These are exactly the nodes whose callees include the node.
        """
        self._limit_cache()
        return self._ctx.memoize(self._callers, key, lambda: self._find_callers(key))

    def uses(self, key: str) -> tuple[Edge, ...]:
        """Return the uses of a node that are not calls, grouped by kind."""
        file, qualname = self._node(key)
        return _edges_by_kind(self._uses.users(file, file.nodes[qualname]) if file else ())

    def links(self, key: str) -> NodeLinks:
        self._ctx.inputs = 0
        calls = self.callees(key)
        file, qualname = self._node(key)
        imports = self._imports_of(file.path) if file and qualname == MODULE_NAME else ()
        edges = _edges({node: (0, set()) for node in imports}, "reference")
        uses = () if file is None else self._uses.uses(file, qualname)
        return NodeLinks(calls, edges, _edges_by_kind(uses), self._ctx.inputs)

    @property
    def alias_dependent(self) -> Set[str]:
        """Keys of the nodes whose aliases affected the `links` computed so far."""
        return self._aliases.alias_dependent

    def alias_digest(self, key: str) -> AliasDigest:
        """Return the digest of the names that may refer to a node.

        The digest is empty for an unknown node.
        """
        self._ctx.inputs = 0
        file, qualname = self._node(key)
        names = b"" if file is None else self._aliases.digest(file, file.nodes[qualname])
        return AliasDigest(names, self._ctx.inputs)

    def importers(self, key: str) -> tuple[Edge, ...]:
        """Return the modules that import a node.

        These are exactly the modules whose imports include the node.
        """
        file, qualname = self._node(key)
        if file is None:
            return ()
        found: EdgeLines = {}
        for path in self._ctx.mentioning(_imported_as(file.path, qualname)):
            if key in self._imports_of(path):
                found[node_key(path)] = (0, set())
        return _edges(found, "reference")

    def subclasses(self, key: str) -> tuple[Edge, ...]:
        file, qualname = self._node(key)
        number = None if file is None else file.nodes[qualname]
        if file is None or number is None or file.scopes[number].kind != CLASS_SCOPE:
            return ()
        found: EdgeLines = {}
        for value, tier in self._ctx.solve(("derived", file.path, number)):
            if (other := self._ctx.file(value[1])) is not None:
                found[node_key(value[1], other.scopes[value[2]].qualname)] = (tier, set())
        return _edges(found)

    def class_order(self, key: str) -> tuple[str, ...]:
        """Return the keys of a class and its bases, in method resolution order.

        Those of bases outside the project are such as `ext:unittest.TestCase`.
        """
        file, qualname = self._node(key)
        if file is None:
            return ()
        order = self._ctx.solve(("mro", file.path, file.nodes[qualname]))
        nodes = ((value, _node(self._ctx, value)) for value, _ in order)
        return tuple(
            node_key(*node) if node else f"ext:{value[1]}"
            for value, node in nodes
            if node or value[0] != CLASS
        )

    def constructor(self, key: str) -> str | None:
        """Return the key of the first project-defined `__init__` in a class's MRO, or None."""
        file, qualname = self._node(key)
        if file is None or file.scopes[file.nodes[qualname]].kind != CLASS_SCOPE:
            return None
        question = ("class_attribute", 0, file.path, file.nodes[qualname], "__init__")
        return self._first(self._ctx.solve(question), {FUNCTION})

    def resolve_export(self, dotted: str, importer: str = "") -> str | None:
        """Return the key of the function or class `pkg.Name` or `pkg:Class.method`, or None.

        Re-exports are followed. The path `importer` tells equal packages of several roots apart.
        """
        module, _, name = dotted.rpartition(":" if ":" in dotted else ".")
        found = self._ctx.resolve_import(importer, 0, module) if module else None
        if found is None or found[0] != MODULE:
            return None
        key = self._first(self._ctx.solve(("export", 0, found[1], name)), {FUNCTION, CLASS})
        own = node_key(found[1], name)  # of a method, or of a function with a foreign decorator
        return key or (own if self._node(own)[0] is not None else None)

    def _first(self, values: Values, kinds: Set[str]) -> str | None:
        for value, _ in values:
            node = _node(self._ctx, value) if value[0] in kinds else None
            if node is not None:
                return node_key(*node)
        return None

    def _limit_cache(self) -> None:
        if len(self._targets) > _MAX_CACHED_SITES:
            for cache in (self._targets, self._callees, self._callers):
                cache.clear()

    def _node(self, key: str) -> tuple[IndexedFile | None, str]:
        path, qualname = split_node_key(key)
        file = self._ctx.file(path)
        known = file is not None and qualname in file.nodes and key.startswith("node:")
        return (file if known else None), qualname

    def _find_callees(self, key: str) -> tuple[Edge, ...]:
        file, qualname = self._node(key)
        if file is None:
            return ()
        found: EdgeLines = {}
        for kind, numbers in enumerate(file.sites_by_owner.get(qualname, ())):
            for number in numbers:
                line = file.sites[kind][number].line
                site = (file.path, kind, number)
                for target, tier in self._site_targets(site).items():
                    if self._is_caller_site(target, site):
                        _add_edge(found, target, tier, line)
        return _edges(found)

    def _is_caller_site(self, target: str, site: Site) -> bool:
        """Return True if `callers` would consider the site for callers of `target`."""
        path, qualname = split_node_key(target)
        if not target.startswith("node:"):
            return True
        file = self._ctx.interface_file(path)
        if file is None or qualname not in file.nodes:
            return True
        number = file.nodes[qualname]
        self._ctx.definition_file(path, number)
        return self._aliases.is_candidate(file, number, site)

    def _find_callers(self, key: str) -> tuple[Edge, ...]:
        file, qualname = self._node(key)
        if file is None:
            return ()
        found: EdgeLines = {}
        for site in self._aliases.candidate_sites(file, file.nodes[qualname]):
            targets = self._site_targets(site)
            other = self._ctx.file(site[0])
            if key in targets and other is not None:
                record = other.sites[site[1]][site[2]]
                owner = node_key(other.path, other.scopes[record.scope].qualname)
                _add_edge(found, owner, targets[key], record.line)
        return _edges(found)

    def _site_targets(self, site: Site) -> Targets:
        path, kind, number = site
        find = (call_targets, read_targets, store_targets)[kind]
        return self._ctx.memoize(self._targets, site, lambda: find(self._ctx, path, number))

    def _imports_of(self, path: str) -> frozenset[str]:
        return self._ctx.memoize(
            self._imports, path, lambda: frozenset(_imports_of(self._ctx, path))
        )


def _add_edge(found: EdgeLines, key: str, tier: int, line: int) -> None:
    known, lines = found.setdefault(key, (tier, set()))
    lines.add(line)
    if tier < known:
        found[key] = (tier, lines)


def _edges(found: EdgeLines, kind: Kind = "call") -> tuple[Edge, ...]:
    order: Iterable[tuple[int, str]] = sorted((tier, key) for key, (tier, _) in found.items())
    return tuple(
        Edge(key=key, tier=TIERS[tier], lines=tuple(sorted(found[key][1] - {0})), kind=kind)
        for tier, key in order
    )


def _edges_by_kind(uses: Iterable[Use]) -> tuple[Edge, ...]:
    found: dict[Kind, EdgeLines] = {}
    for kind, key, tier, line in uses:
        _add_edge(found.setdefault(kind, {}), key, tier, line)
    return tuple(edge for kind in sorted(found) for edge in _edges(found[kind], kind))


def _imports_of(ctx: Context, path: str) -> Iterator[str]:
    """Yield the keys of imported nodes that the file mentions. An instance counts as its class."""
    if (file := ctx.file(path)) is None:
        return
    for number, scope in enumerate(file.scopes):
        for name, binds in scope.binds.items():
            for i, bind in enumerate(binds):
                for value in _imported_values(ctx, path, bind, ("bind", 0, path, number, name, i)):
                    found = _node(ctx, value)
                    if found and found[0] != path and _imported_as(*found) in file.names:
                        yield node_key(*found)


def _imported_as(path: str, qualname: str) -> str:
    """Return the name that a file must mention to import the node."""
    if qualname != MODULE_NAME:
        return unqualified_name(qualname).partition("#")[0]
    parts = module_path(path).removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _imported_values(
    ctx: Context, path: str, bind: Binding, question: tuple[str, int, str, int, str, int]
) -> Iterator[Value]:
    if bind.kind == IMPORT_FROM:
        yield from (value for value, _ in ctx.solve(question))
    elif bind.kind == IMPORT:
        for dotted in (bind.term, bind.extra):  # `import a.b` binds only `a`
            module = ctx.resolve_import(path, 0, dotted) if dotted else None
            if module is not None:
                yield module


def _node(ctx: Context, value: Value) -> tuple[str, str] | None:
    """Return (path, qualname) for the node that a value refers to, or None.

    An instance refers to its class.
    """
    if value[0] == MODULE:
        return value[1], MODULE_NAME
    if value[0] not in {CLASS, FUNCTION, INSTANCE}:
        return None
    if (file := ctx.definition_file(value[1], value[2])) is None:
        return None
    qualname = file.scopes[value[2]].qualname
    return (value[1], qualname) if file.nodes.get(qualname) == value[2] else None
