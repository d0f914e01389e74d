"""Nodes that differ from a git revision."""

import os
from pathlib import Path

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, own_lines
from remora.errors import OutsideError, UsageError
from remora.files.git import git_output
from remora.runs.planning.plan import Source


def changed_nodes(root: Path, tree: Path, revision: str, source: Source) -> frozenset[str]:
    """Return the keys of nodes in `tree` that are new or have changed since `revision`.

    Lines of nested nodes are ignored, so changing a function does not change its class or module.
    Raises UsageError if the revision is unknown or git is not available.
    """
    try:
        commit = git_output(root, "rev-parse", "--verify", "-q", f"{revision}^{{commit}}")
    except OutsideError as error:
        raise UsageError(
            f"unknown git revision {revision!r}", hint="use a commit, branch or tag"
        ) from error
    rev = commit.decode().strip()
    found: set[str] = set()
    for module in source.modules:
        before = _before(root, rev, module)
        old = parse_module(module.path, before) if before is not None else None
        known = _own_texts(old, before or b"") if isinstance(old, Module) else {}
        now = _own_texts(module, (tree / module.path).read_bytes())
        found.update(key for key, text in now.items() if known.get(key) != text)
    return frozenset(found)


def _before(root: Path, revision: str, module: Module) -> bytes | None:
    try:
        return git_output(root, "show", f"{revision}:./{os.fspath(module.path)}")
    except OutsideError:  # the file is new
        return None


def _own_texts(module: Module, source: bytes) -> dict[str, list[bytes]]:
    lines = source.splitlines()
    return {
        node.key: [lines[number - 1] for number in sorted(own_lines(module, node.key))]
        for node in module.nodes
    }
