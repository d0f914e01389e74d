"""Update rules, which select the update actions for a changed file."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from remora.code.file_facts import FileFacts, NodeFacts
from remora.ids import MODULE, NodeKey, node_key

ChangeKind = Literal["created", "modified", "deleted", "renamed"]


class KnownFile(msgspec.Struct, frozen=True, kw_only=True):
    """Stored state of a file. A new file has no nodes."""

    file_hash: str = ""
    partial: bool = False
    nodes: tuple[NodeFacts, ...] = ()


Analyze = Callable[[str, bytes, KnownFile], FileFacts]
"""Analyze a file: raw path, bytes, stored state → facts."""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """State of a node in a comparable form: its head, and the hash of its body."""

    head: tuple[str | None, ...]
    body: str


class Fingerprints(msgspec.Struct, frozen=True, kw_only=True):
    """State of a file in a comparable form. `nodes` is keyed by qualname, in source order."""

    file_hash: str
    partial: bool
    imports: tuple[str, ...]
    nodes: Mapping[str, Fingerprint]


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change to a file.

    `now` is None if the file was deleted. `before` is the old path if the file was renamed.
    """

    kind: ChangeKind
    path: str
    now: Fingerprints | None = None
    before: str | None = None


class DeleteFileNodes(msgspec.Struct, frozen=True, tag=True):
    """Remove the nodes of a deleted file. The store remembers their uids for a while."""

    path: str


class RenameFile(msgspec.Struct, frozen=True, tag=True):
    """Move the nodes of `before` to `path`. They keep their uids.

    The store does this automatically.
    """

    before: str
    path: str


class ExtractSignatures(msgspec.Struct, frozen=True, tag=True):
    """Extract the signatures, docstrings, decorators and bases of these nodes."""

    path: str
    nodes: tuple[str, ...]


class ScanImports(msgspec.Struct, frozen=True, tag=True):
    """Extract the module's imports as absolute names."""

    path: str


class ComputeComplexity(msgspec.Struct, frozen=True, tag=True):
    """Compute the cyclomatic complexity of these functions and classes."""

    path: str
    nodes: tuple[str, ...]


class FindCallers(msgspec.Struct, frozen=True, tag=True):
    """Find the callers of nodes that were added or removed, or whose signature changed."""

    nodes: tuple[NodeKey, ...]


class FindTests(msgspec.Struct, frozen=True, tag=True):
    """Find the tests of nodes whose code changed."""

    nodes: tuple[NodeKey, ...]


UpdateAction = (
    DeleteFileNodes
    | RenameFile
    | ExtractSignatures
    | ScanImports
    | ComputeComplexity
    | FindCallers
    | FindTests
)


def fingerprints(known: KnownFile | FileFacts) -> Fingerprints:
    """Return stored or newly read facts in a comparable form."""
    module = known.nodes[0] if known.nodes else None
    return Fingerprints(
        file_hash=known.file_hash,
        partial=known.partial,
        imports=(module.imports or ()) if module else (),
        nodes={node.qualname: _fingerprint(node) for node in known.nodes},
    )


def _fingerprint(node: NodeFacts) -> Fingerprint:
    head = (node.signature, node.docstring, *node.bases, None, *node.decorators)
    return Fingerprint(head=head, body=node.body_hash)


class RulesEngine:
    """Determines the actions that a change requires. The result is deterministic."""

    def actions(self, change: FileChange, known: Fingerprints | None) -> tuple[UpdateAction, ...]:
        """Return the actions in execution order, or an empty tuple if no facts can differ."""
        if change.now is None:
            return _actions_for_deleted(change.path, known)
        if change.kind == "renamed" and change.before is not None:
            moved = RenameFile(change.before, change.path)
            return moved, *_actions_for_moved(change.path, change.now, known)
        if known is None:
            return _all_actions(change.path, change.now)
        return _actions_for_modified(change.path, change.now, known)


def _actions_for_deleted(path: str, known: Fingerprints | None) -> tuple[UpdateAction, ...]:
    if known is None:
        return ()
    removed = tuple(known.nodes)
    return DeleteFileNodes(path), *_link_actions(path, called=removed, tested=removed)


def _actions_for_moved(
    path: str, now: Fingerprints, known: Fingerprints | None
) -> tuple[UpdateAction, ...]:
    """Return the actions for a renamed file, whose keys and relative imports change."""
    if known is None:
        return _all_actions(path, now)
    heads, bodies = _differing_nodes(now, known)
    own = (*_extract(path, heads), ScanImports(path), *_complexity(path, bodies))
    return *own, *_link_actions(path, called=now.nodes, tested=now.nodes)


def _all_actions(path: str, now: Fingerprints) -> tuple[UpdateAction, ...]:
    nodes = tuple(now.nodes)
    own = (*_extract(path, nodes), ScanImports(path), *_complexity(path, nodes))
    return *own, *_link_actions(path, called=nodes, tested=nodes)


def _actions_for_modified(
    path: str, now: Fingerprints, known: Fingerprints
) -> tuple[UpdateAction, ...]:
    if now.partial != known.partial:
        return _all_actions(path, now)  # a syntax error was added or removed
    if now.file_hash == known.file_hash:
        return ()
    heads, bodies = _differing_nodes(now, known)
    imports: tuple[UpdateAction, ...] = (ScanImports(path),) if now.imports != known.imports else ()
    own = (*_extract(path, heads), *imports, *_complexity(path, bodies))
    removed = [name for name in known.nodes if name not in now.nodes]
    return *own, *_link_actions(path, called=(*heads, *removed), tested=bodies)


def _differing_nodes(
    now: Fingerprints, known: Fingerprints
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the nodes with new or changed heads, and the nodes with new or changed bodies."""
    before = known.nodes.get
    pairs = [(name, node, before(name)) for name, node in now.nodes.items()]
    return (
        tuple(name for name, node, old in pairs if old is None or old.head != node.head),
        tuple(name for name, node, old in pairs if old is None or old.body != node.body),
    )


def _extract(path: str, nodes: tuple[str, ...]) -> tuple[UpdateAction, ...]:
    return (ExtractSignatures(path, nodes),) if nodes else ()


def _complexity(path: str, nodes: tuple[str, ...]) -> tuple[UpdateAction, ...]:
    defined = tuple(name for name in nodes if name != MODULE)
    return (ComputeComplexity(path, defined),) if defined else ()


def _link_actions(
    path: str, *, called: Iterable[str], tested: Iterable[str]
) -> tuple[UpdateAction, ...]:
    """Return the actions that find nodes whose links may have changed."""
    callers = FindCallers(tuple(node_key(path, name) for name in called if name != MODULE))
    tests = FindTests(tuple(node_key(path, name) for name in tested if name != MODULE))
    return tuple(action for action in (callers, tests) if action.nodes)
