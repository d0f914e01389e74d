"""Directory walk for projects that do not use git. Folders created by tools are skipped."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from remora.errors import ConfigError
from remora.files.patterns import IgnoreRules, glob_regex

RESERVED_FOLDERS = frozenset({".git", ".hg", ".svn", ".bzr", ".agentfs"})
_PRUNED = frozenset({"venv", "node_modules", "__pycache__", "site-packages", *RESERVED_FOLDERS})
BUILD_FOLDERS = frozenset({"build", "dist"})  # unless they are packages


def walk(root: Path) -> list[str]:
    """Return all files that are neither ignored nor in a folder created by a tool."""
    rules = IgnoreRules()
    found: list[str] = []
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        entries = list_folder(root / prefix)
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        if any(entry.name == ".gitignore" for entry in entries):
            rules.read(root, prefix)
        for entry in entries:
            path = prefix + entry.name
            if not entry.is_dir(follow_symlinks=False):
                found += [] if rules.matches(path, folder=False) else [path]
            elif not (is_tool_output(root, path) or rules.matches(path, folder=True)):
                waiting.append(path + "/")
    return found


def list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, or none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def is_tool_output(root: Path, folder: str) -> bool:
    if (name := folder.rpartition("/")[2]) in BUILD_FOLDERS:
        return not (root / folder / "__init__.py").exists()
    return name in _PRUNED or name.startswith(".") or name.endswith(".egg-info")


def is_dependency_folder(root: Path, folder: str) -> bool:
    """Return True for a virtual environment or `node_modules`."""
    name = folder.rpartition("/")[2]
    return name == "node_modules" or os.path.lexists(root / folder / "pyvenv.cfg")


def included_files(root: Path, include: Sequence[str]) -> Iterator[str]:
    """Yield the files that match any of the globs, even if they are ignored.

    Raises ConfigError if a glob refers to a path outside the root.
    """
    for pattern in include:
        *folders, _ = parts = pattern.split("/")
        if pattern.startswith("/") or ".." in parts:
            raise ConfigError(
                f"workspace.include: {pattern!r} is outside the project",
                hint="use paths relative to the project's root",
            )
        fixed = 0
        while fixed < len(folders) and not re.search(r"[*?\[\\]", folders[fixed]):
            fixed += 1
        start = "".join(part + "/" for part in folders[:fixed])
        glob = glob_regex(pattern)
        yield from (path for path in _walk_all(root, start) if glob.fullmatch(path))


def _walk_all(root: Path, start: str) -> Iterator[str]:
    waiting = [start]
    while waiting:
        prefix = waiting.pop()
        for entry in list_folder(root / prefix):
            if not entry.is_dir(follow_symlinks=False):
                yield prefix + entry.name
            elif entry.name not in RESERVED_FOLDERS:
                waiting.append(prefix + entry.name + "/")
