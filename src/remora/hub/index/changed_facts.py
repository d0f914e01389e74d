"""A changed file's facts, those that changed found by the scripts; the same as `read_facts` gives."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from remora.code.file_analysis import FileAnalysis, analyze_file
from remora.code.file_facts import FileFacts, NodeFacts
from remora.code.syntax.imports import package_of
from remora.errors import ScriptError
from remora.hub.index import script_runner
from remora.hub.index.script_runner import Head, Measured
from remora.hub.index.tree_facts import (
    Plain,
    branch_facts,
    definition_facts,
    import_facts,
    module_facts,
)
from remora.hub.update_rules import (
    ChangeKind,
    ComputeComplexity,
    ExtractSignatures,
    FileChange,
    Known,
    RulesEngine,
    ScanImports,
    UpdateAction,
    fingerprints,
)
from remora.ids import MODULE

SIZE_LIMIT = 64 * 1024
"""Bytes of a file for the scripts; a larger one takes the direct path."""
MOST_NODES = 64
"""Changed nodes of a file for the scripts; with more it takes the direct path too."""
MOST_TAKEN = 200
"""Actions remembered for `taken`."""
_log = logging.getLogger("remora.hub")


class ScriptedAnalysis:
    """The `Analyse` of an indexer that follows edits: rules say what to do, scripts do it.

    New, large, broken and wholly changed files take the direct path. Should a script fail, the
    direct result stands, and the log says so.
    """

    def __init__(self, *, size_limit: int = SIZE_LIMIT, most_nodes: int = MOST_NODES) -> None:
        self._size_limit = size_limit
        self._most_nodes = most_nodes
        self._engine = RulesEngine()
        self._taken: deque[UpdateAction] = deque(maxlen=MOST_TAKEN)

    def __call__(self, path: str, source: bytes, known: Known) -> FileFacts:
        """Raw path, bytes, and what is stored of the file. Never raises."""
        read = analyze_file(path, source)
        facts = read.facts
        actions = self._actions(facts, known)
        if known.nodes:
            self._taken.extend(actions)
        if not known.nodes or facts.partial or len(source) > self._size_limit:
            return facts
        if _widest(actions) > self._most_nodes:
            return facts
        try:
            return carried_out(actions, path, read)
        except ScriptError as failed:
            _log.error("%s: %s", facts.path, failed.message)
            return facts

    def taken(self) -> tuple[UpdateAction, ...]:
        """The newest actions since this was asked last, of files that were known before."""
        taken = tuple(self._taken)
        self._taken.clear()
        return taken

    def _actions(self, facts: FileFacts, known: Known) -> tuple[UpdateAction, ...]:
        kind: ChangeKind = "modified" if known.nodes else "created"
        change = FileChange(kind=kind, path=facts.path, now=fingerprints(facts))
        return self._engine.actions(change, fingerprints(known) if known.nodes else None)


def _widest(actions: Iterable[UpdateAction]) -> int:
    own = (ExtractSignatures, ComputeComplexity)
    return max((len(action.nodes) for action in actions if isinstance(action, own)), default=0)


def carried_out(actions: Iterable[UpdateAction], path: str, read: FileAnalysis) -> FileFacts:
    """The facts read, with what the scripts found of the nodes that `actions` name (raw path).

    Raises ScriptError.
    """
    hosts = _Hosts(read)
    nodes = {node.qualname: node for node in read.facts.nodes}
    for action in actions:
        if isinstance(action, _OWN):
            nodes.update(_found(action, path, hosts, nodes))
    return msgspec.structs.replace(read.facts, nodes=tuple(nodes.values()))


_OWN = ExtractSignatures | ScanImports | ComputeComplexity


def _found(
    action: ExtractSignatures | ScanImports | ComputeComplexity,
    path: str,
    hosts: "_Hosts",
    nodes: Mapping[str, NodeFacts],
) -> Iterator[tuple[str, NodeFacts]]:
    if isinstance(action, ScanImports):
        imports = script_runner.scan_imports(package_of(path), {"imports": hosts.imports})
        yield MODULE, msgspec.structs.replace(nodes[MODULE], imports=imports)
        return
    found: list[Head] | list[Measured]
    if isinstance(action, ExtractSignatures):
        found = script_runner.extract_signatures(action.nodes, {"definitions": hosts.definitions})
    else:
        found = script_runner.compute_complexity(action.nodes, {"branches": hosts.branches})
    for one in found:
        changes = msgspec.structs.asdict(one)
        name = changes.pop("qualname")
        yield name, msgspec.structs.replace(nodes[name], **changes)


class _Hosts:
    """What scripts may ask about one file."""

    def __init__(self, read: FileAnalysis) -> None:
        self._source = read.source
        self._imports = read.imports
        self._by_name = {found.qualname: found.node for found in read.definitions}

    def definitions(self, nodes: list[str]) -> list[Plain]:
        """Of nodes by qualname, the module's own too."""
        return [
            definition_facts(self._by_name[name], name, self._source)
            if name in self._by_name
            else module_facts(self._source, name)
            for name in nodes
        ]

    def branches(self, nodes: list[str]) -> list[Plain]:
        """Of functions and classes."""
        return [branch_facts(self._by_name[name], name) for name in nodes]

    def imports(self) -> list[Plain]:
        """Every import statement, in the order of the source."""
        return [import_facts(statement) for statement in self._imports]
