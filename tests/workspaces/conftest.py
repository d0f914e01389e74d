"""A small project frozen as a base, and what stands in a folder."""

from pathlib import Path

import pytest

from remora.files.project_files import project_files
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base


@pytest.fixture
def base(tmp_path: Path) -> BaseSnapshot:
    root = tmp_path / "root"
    (root / "pkg/deep").mkdir(parents=True)
    (root / "pkg/a.py").write_bytes(b"a = 1\n")
    (root / "pkg/deep/b.py").write_bytes(b"b = 1\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / ".gitignore").write_bytes(b"*.tmp\n/out/\n")
    return take_base(root, project_files(root), tmp_path / "base")


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and permission bits of every file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in files
    }
