"""Nodes and lines that differ from a git revision."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, own_lines
from remora.errors import HostError, OutsideError, UsageError
from remora.files.git import git_output
from remora.files.git_listing import git_root
from remora.runs.planning.source_files import Source
from remora.workspaces.apply.line_diff import new_lines
from remora.workspaces.commit_files import committed_files, read_blobs
from remora.workspaces.rooted_files import READ_LIMIT, RootedFiles


def changed_nodes(root: Path, tree: Path, revision: str, source: Source) -> frozenset[str]:
    """Return the keys of nodes in `tree` that are new or have changed since `revision`.

    Lines of nested nodes are ignored, so changing a function does not change its class or module.
    Raises UsageError if the revision is unknown or git is not available, and OutsideError if git
    cannot read a file of the revision.
    """
    committed = committed_files(root, commit_of(root, revision))
    found: set[str] = set()
    edited: dict[str, tuple[Module, bytes]] = {}
    for module in source.modules:
        content, before = (tree / module.path).read_bytes(), committed.get(module.path)
        if before is None:
            found.update(node.key for node in module.nodes)
        elif not before.has_content(content):
            edited[module.path] = module, content
    old_contents = read_blobs(root, [committed[path].blob for path in edited], READ_LIMIT)
    for (module, content), old_content in zip(edited.values(), old_contents, strict=True):
        old = parse_module(module.path, old_content or b"")
        known = _own_texts(old, old_content or b"") if isinstance(old, Module) else {}
        now = _own_texts(module, content)
        found.update(key for key, text in now.items() if known.get(key) != text)
    return frozenset(found)


def changed_lines(
    root: Path, tree: Path, revision: str, paths: Iterable[str]
) -> dict[str, frozenset[int]]:
    """Return the numbers of the lines of files in `tree` that are new or differ from `revision`.

    Raises the same errors as `changed_nodes`.
    """
    committed = committed_files(root, commit_of(root, revision))
    files = RootedFiles(tree)
    found: dict[str, bytes] = {}
    for path in paths:
        with suppress(HostError):  # a file that is gone has no lines
            found[path] = files.read_bytes(path)
    known = [path for path in found if path in committed]
    contents = read_blobs(root, [committed[path].blob for path in known], READ_LIMIT)
    old = dict(zip(known, contents, strict=True))
    return {path: new_lines(old.get(path) or b"", content) for path, content in found.items()}


def commit_of(root: Path, revision: str) -> str:
    """Return the commit of a revision.

    Raises UsageError if the revision is unknown or git is not available.
    """
    try:
        git_root(root)
    except OutsideError as error:
        message = f"no changes can be found without git: {error.message}"
        raise UsageError(message, hint=error.hint) from error
    try:
        found = git_output(root, "rev-parse", "--verify", "-q", f"{revision}^{{commit}}")
    except OutsideError as error:
        raise UsageError(
            f"unknown git revision {revision!r}", hint="use a commit, branch or tag"
        ) from error
    return found.decode().strip()


def _own_texts(module: Module, source: bytes) -> dict[str, list[bytes]]:
    """Return the lines of each node of a module, without those of nested nodes, by key."""
    lines = source.splitlines()
    return {
        node.key: [lines[number - 1] for number in sorted(own_lines(module, node.key))]
        for node in module.nodes
    }
