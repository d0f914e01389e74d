"""Analysis of a changed file. The built-in scripts report the changed facts."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts, NodeFacts
from remora.errors import ScriptError
from remora.hub.index import script_runner
from remora.hub.index.script_runner import NodeComplexity, NodeHead
from remora.hub.update_rules import (
    ChangeKind,
    ComputeComplexity,
    ExtractSignatures,
    FileChange,
    KnownFile,
    RulesEngine,
    ScanImports,
    UpdateAction,
    fingerprints,
)
from remora.ids import MODULE

MAX_NODES = 64
"""Maximum changed nodes per file for running scripts. Above it, scripts are skipped."""
MAX_ACTIONS = 200
"""Maximum actions kept for `taken`."""
_log = logging.getLogger("remora.hub")


class ScriptedAnalysis:
    """An `Analyze` implementation for edited files. Rules select actions, and scripts run them.

    Scripts are not run for new files, files with syntax errors, and files in which too many nodes
    changed. If a script fails, the error is logged.
    """

    def __init__(self, *, most_nodes: int = MAX_NODES) -> None:
        self._most_nodes = most_nodes
        self._engine = RulesEngine()
        self._taken: deque[UpdateAction] = deque(maxlen=MAX_ACTIONS)

    def __call__(self, path: str, source: bytes, known: KnownFile) -> FileFacts:
        """Return the facts of the file at a raw path, given its stored state. Never raises."""
        facts = read_facts(path, source)
        actions = self._actions(facts, known)
        if not known.nodes:
            return facts
        self._taken.extend(actions)
        if facts.partial or _most_nodes_of_action(actions) > self._most_nodes:
            return facts
        try:
            return run_actions(actions, facts, facts)
        except ScriptError as failed:
            _log.error("%s: %s", facts.path, failed.message)
            return facts

    def taken(self) -> tuple[UpdateAction, ...]:
        """Return and clear the queued actions.

        Only files that were already stored produce actions.
        """
        taken = tuple(self._taken)
        self._taken.clear()
        return taken

    def _actions(self, facts: FileFacts, known: KnownFile) -> tuple[UpdateAction, ...]:
        kind: ChangeKind = "modified" if known.nodes else "created"
        change = FileChange(kind=kind, path=facts.path, now=fingerprints(facts))
        return self._engine.actions(change, fingerprints(known) if known.nodes else None)


def _most_nodes_of_action(actions: Iterable[UpdateAction]) -> int:
    own = (ExtractSignatures, ComputeComplexity)
    return max((len(action.nodes) for action in actions if isinstance(action, own)), default=0)


def run_actions(actions: Iterable[UpdateAction], facts: FileFacts, into: FileFacts) -> FileFacts:
    """Return a copy of `into`, updated with the results of the actions' scripts.

    Raises ScriptError if a script fails.
    """
    hosts = _Hosts(facts)
    nodes = {node.qualname: node for node in into.nodes}
    for action in actions:
        for name, changes in _run_script(action, hosts):
            nodes[name] = msgspec.structs.replace(nodes[name], **changes)
    return msgspec.structs.replace(into, nodes=tuple(nodes.values()))


def _run_script(action: UpdateAction, hosts: "_Hosts") -> Iterator[tuple[str, dict[str, Any]]]:
    """Run the action's script. Yield each node's qualname and the facts reported for it."""
    if isinstance(action, ScanImports):
        yield MODULE, {"imports": script_runner.scan_imports({"imports": hosts.imports})}
    elif isinstance(action, ExtractSignatures):
        heads = script_runner.extract_signatures(action.nodes, {"definitions": hosts.definitions})
        yield from map(_by_qualname, heads)
    elif isinstance(action, ComputeComplexity):
        measured = script_runner.compute_complexity(action.nodes, {"branches": hosts.branches})
        yield from map(_by_qualname, measured)


def _by_qualname(found: NodeHead | NodeComplexity) -> tuple[str, dict[str, Any]]:
    changes = msgspec.structs.asdict(found)
    return changes.pop("qualname"), changes


class _Hosts:
    def __init__(self, facts: FileFacts) -> None:
        self._nodes = {node.qualname: node for node in facts.nodes}

    def definitions(self, nodes: list[str]) -> list[dict[str, Any]]:
        """Return the heads of the given nodes. The module may be one of them."""
        return [_pick_fields(self._nodes[name], NodeHead) for name in nodes]

    def branches(self, nodes: list[str]) -> list[dict[str, Any]]:
        """Return the complexity of the given functions and classes."""
        return [_pick_fields(self._nodes[name], NodeComplexity) for name in nodes]

    def imports(self) -> list[str]:
        """Return the absolute names of the module's imports."""
        return list(self._nodes[MODULE].imports or ())


def _pick_fields(node: NodeFacts, kind: type[NodeHead | NodeComplexity]) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(node)
    return {name: facts[name] for name in kind.__struct_fields__}
