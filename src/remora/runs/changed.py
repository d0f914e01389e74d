"""Which nodes differ from a git revision."""

import os
from pathlib import Path

from remora.code import Module, parse_module
from remora.errors import OutsideError, UsageError
from remora.files.git import git_output
from remora.runs.plan import Source


def changed_nodes(root: Path, revision: str, source: Source) -> frozenset[str]:
    """Keys of nodes that are new or read otherwise than in `revision`.

    Raises UsageError for a revision that git does not know, or where there is no git.
    """
    try:
        commit = git_output(root, "rev-parse", "--verify", "-q", f"{revision}^{{commit}}")
    except OutsideError as error:
        raise UsageError(
            f"git knows no revision {revision!r} here", hint="name a commit, branch or tag"
        ) from error
    rev = commit.decode().strip()
    return frozenset(
        key for module in source.modules for key in _changed(module, _before(root, rev, module))
    )


def _before(root: Path, revision: str, module: Module) -> bytes | None:
    try:
        return git_output(root, "show", f"{revision}:./{os.fspath(module.path)}")
    except OutsideError:  # the file is new
        return None


def _changed(module: Module, before: bytes | None) -> list[str]:
    old = parse_module(module.path, before) if before is not None else None
    known = {node.key: node.source_hash for node in old.nodes} if isinstance(old, Module) else {}
    return [node.key for node in module.nodes if known.get(node.key) != node.source_hash]
