"""Update rules: a changed file in, ordered update actions out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from remora.code.file_facts import FileFacts, NodeFacts
from remora.ids import MODULE, NodeKey, node_key

ChangeKind = Literal["created", "modified", "deleted", "renamed"]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of a file; without nodes for one that was never looked at."""

    file_hash: str = ""
    partial: bool = False
    nodes: tuple[NodeFacts, ...] = ()


Analyse = Callable[[str, bytes, Known], FileFacts]
"""Raw path, bytes and what is known of the file, to its facts."""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared of a node: the head that it shows, and the hash of its body."""

    head: tuple[str | None, ...]
    body: str


class Fingerprints(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared of a file; `nodes` are by qualname, in the order of the source."""

    file_hash: str
    partial: bool
    imports: tuple[str, ...]
    nodes: Mapping[str, Fingerprint]


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a file. `path` is spelled; `now` is null for a deleted file; `before` is the
    path that a renamed file had."""

    kind: ChangeKind
    path: str
    now: Fingerprints | None = None
    before: str | None = None


class DeleteFileNodes(msgspec.Struct, frozen=True, tag=True):
    """Nothing of this file is left: the store removes its nodes, and keeps their uids for a while."""

    path: str


class RenameFile(msgspec.Struct, frozen=True, tag=True):
    """The nodes of `before` are those of `path` now, with their uids: the store knows them again by
    their bodies, whatever told of the two paths (`store.identity`)."""

    before: str
    path: str


class ExtractSignatures(msgspec.Struct, frozen=True, tag=True):
    """Signature, docstring, decorators and bases of these nodes."""

    path: str
    nodes: tuple[str, ...]


class ScanImports(msgspec.Struct, frozen=True, tag=True):
    """What the module imports, relative names made absolute."""

    path: str


class ComputeComplexity(msgspec.Struct, frozen=True, tag=True):
    """Cyclomatic complexity of these functions and classes."""

    path: str
    nodes: tuple[str, ...]


class FindCallers(msgspec.Struct, frozen=True, tag=True):
    """Who is affected: callers of nodes that are called otherwise now, or are new or gone."""

    nodes: tuple[NodeKey, ...]


class FindTests(msgspec.Struct, frozen=True, tag=True):
    """Which tests exercise these nodes, whose code is not what it was."""

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


def fingerprints(known: Known | FileFacts) -> Fingerprints:
    """Of what is stored, or of what was just read."""
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
    """Compares, and decides what to do; the same for the same input, always."""

    def actions(self, change: FileChange, known: Fingerprints | None) -> tuple[UpdateAction, ...]:
        """In the order in which they are to be carried out; none where no fact can differ."""
        if change.now is None:
            return _deleted(change.path, known)
        if change.kind == "renamed" and change.before is not None:
            moved = RenameFile(change.before, change.path)
            return moved, *_moved(change.path, change.now, known)
        if known is None:
            return _everything(change.path, change.now)
        return _modified(change.path, change.now, known)


def _deleted(path: str, known: Fingerprints | None) -> tuple[UpdateAction, ...]:
    if known is None:
        return ()
    gone = tuple(known.nodes)
    return DeleteFileNodes(path), *_affected(path, called=gone, tested=gone)


def _moved(path: str, now: Fingerprints, known: Fingerprints | None) -> tuple[UpdateAction, ...]:
    """What a file says depends on where it lies in two ways: relative imports, and its keys."""
    if known is None:
        return _everything(path, now)
    heads, bodies = _differing(now, known)
    own = (*_extract(path, heads), ScanImports(path), *_complexity(path, bodies))
    return *own, *_affected(path, called=now.nodes, tested=now.nodes)


def _everything(path: str, now: Fingerprints) -> tuple[UpdateAction, ...]:
    nodes = tuple(now.nodes)
    own = (*_extract(path, nodes), ScanImports(path), *_complexity(path, nodes))
    return *own, *_affected(path, called=nodes, tested=nodes)


def _modified(path: str, now: Fingerprints, known: Fingerprints) -> tuple[UpdateAction, ...]:
    if now.partial != known.partial:
        return _everything(path, now)  # what could only be saved is known now, or the other way
    if now.file_hash == known.file_hash:
        return ()
    heads, bodies = _differing(now, known)
    imports: tuple[UpdateAction, ...] = (ScanImports(path),) if now.imports != known.imports else ()
    own = (*_extract(path, heads), *imports, *_complexity(path, bodies))
    gone = [name for name in known.nodes if name not in now.nodes]
    return *own, *_affected(path, called=(*heads, *gone), tested=bodies)


def _differing(now: Fingerprints, known: Fingerprints) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Nodes whose head is new or another, and those whose body is."""
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


def _affected(
    path: str, *, called: Iterable[str], tested: Iterable[str]
) -> tuple[UpdateAction, ...]:
    """Links are made when somebody asks; these say who may be answered otherwise from now on."""
    callers = FindCallers(tuple(node_key(path, name) for name in called if name != MODULE))
    tests = FindTests(tuple(node_key(path, name) for name in tested if name != MODULE))
    return tuple(action for action in (callers, tests) if action.nodes)
