"""Lint findings for planning and verification, outside scripts."""

from pathlib import Path
from typing import Any

from remora.tools.host.ruff.ruff_process import check_text, ruff_check, with_sorted_imports
from remora.tools.tree import ToolTree


def lint_findings(tree: Path, paths: list[str]) -> list[dict[str, Any]]:
    """Return ruff's findings in these files of a tree, including unsafe fixes. Raises HostError."""
    return ruff_check(ToolTree(tree), paths, unsafe=True)


def imports_sorted(tree: Path, path: str, content: bytes) -> bytes:
    """Return the content with imports sorted as the project's rules require. Raises HostError."""
    return with_sorted_imports(ToolTree(tree), path, content)


def lint_text(tree: Path, path: str, content: bytes) -> list[dict[str, Any]]:
    """Return ruff's findings if the file at `path` had this `content`. Raises HostError."""
    return check_text(ToolTree(tree), path, content)
