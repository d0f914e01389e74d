"""Facts of a changed file, those that changed reported by the shipped scripts."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts, NodeFacts
from remora.errors import ScriptError
from remora.hub.index import script_runner
from remora.hub.index.script_runner import Head, Measured
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

MOST_NODES = 64
"""Changed nodes of a file for the scripts; with more its facts are taken as they are."""
MOST_TAKEN = 200
"""Actions remembered for `taken`."""
_log = logging.getLogger("remora.hub")


class ScriptedAnalysis:
    """The `Analyse` of an indexer that follows edits: rules say what to do, scripts do it.

    The scripts get their facts from `read_facts`, so both ways give the same. New, broken and
    wholly changed files need no scripts. Should one fail, the log says so.
    """

    def __init__(self, *, most_nodes: int = MOST_NODES) -> None:
        self._most_nodes = most_nodes
        self._engine = RulesEngine()
        self._taken: deque[UpdateAction] = deque(maxlen=MOST_TAKEN)

    def __call__(self, path: str, source: bytes, known: Known) -> FileFacts:
        """Return the facts of a file (raw path), given what is stored of it. Never raises."""
        facts = read_facts(path, source)
        actions = self._actions(facts, known)
        if not known.nodes:
            return facts
        self._taken.extend(actions)
        if facts.partial or _widest(actions) > self._most_nodes:
            return facts
        try:
            return carried_out(actions, facts, facts)
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


def carried_out(actions: Iterable[UpdateAction], facts: FileFacts, into: FileFacts) -> FileFacts:
    """Return `into` with what the scripts report, from `facts`, of the nodes that `actions` name.

    Raises ScriptError.
    """
    hosts = _Hosts(facts)
    nodes = {node.qualname: node for node in into.nodes}
    for action in actions:
        for name, changes in _reported(action, hosts):
            nodes[name] = msgspec.structs.replace(nodes[name], **changes)
    return msgspec.structs.replace(into, nodes=tuple(nodes.values()))


def _reported(action: UpdateAction, hosts: "_Hosts") -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of nodes, with the facts that the action's script reports."""
    if isinstance(action, ScanImports):
        yield MODULE, {"imports": script_runner.scan_imports({"imports": hosts.imports})}
    elif isinstance(action, ExtractSignatures):
        heads = script_runner.extract_signatures(action.nodes, {"definitions": hosts.definitions})
        yield from map(_named, heads)
    elif isinstance(action, ComputeComplexity):
        measured = script_runner.compute_complexity(action.nodes, {"branches": hosts.branches})
        yield from map(_named, measured)


def _named(found: Head | Measured) -> tuple[str, dict[str, Any]]:
    changes = msgspec.structs.asdict(found)
    return changes.pop("qualname"), changes


class _Hosts:
    """Host functions: the facts of one file, for scripts."""

    def __init__(self, facts: FileFacts) -> None:
        self._nodes = {node.qualname: node for node in facts.nodes}

    def definitions(self, nodes: list[str]) -> list[dict[str, Any]]:
        """Return the heads of nodes by qualname, the module's own too."""
        return [_picked(self._nodes[name], Head) for name in nodes]

    def branches(self, nodes: list[str]) -> list[dict[str, Any]]:
        """Return the complexity of functions and classes."""
        return [_picked(self._nodes[name], Measured) for name in nodes]

    def imports(self) -> list[str]:
        """Return what the module imports, by absolute names."""
        return list(self._nodes[MODULE].imports or ())


def _picked(node: NodeFacts, kind: type[Head | Measured]) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(node)
    return {name: facts[name] for name in kind.__struct_fields__}
