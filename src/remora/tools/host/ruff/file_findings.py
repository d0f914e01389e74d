"""Lint facts for planning and verification, where no script is involved."""

from pathlib import Path
from typing import Any

from remora.tools.host.ruff.ruff_process import check_text, ruff_check, with_sorted_imports
from remora.tools.tree import ToolTree


def lint_findings(tree: Path, paths: list[str]) -> list[dict[str, Any]]:
    """What ruff finds in these files of a tree, unsafe fixes included. Raises HostError."""
    return ruff_check(ToolTree(tree), paths, unsafe=True)


def imports_sorted(tree: Path, path: str, content: bytes) -> bytes:
    """The content with its imports as the project's own rules want them. Raises HostError."""
    return with_sorted_imports(ToolTree(tree), path, content)


def lint_text(tree: Path, path: str, content: bytes) -> list[dict[str, Any]]:
    """What ruff would find if the file at `path` held `content`. Raises HostError."""
    return check_text(ToolTree(tree), path, content)
