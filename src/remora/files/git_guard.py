"""Checks for pipes, devices and huge files in an untrusted repository.

Git would block forever if it read a pipe or a device, and reads ignore files as a whole.
"""

import os
import sys
from pathlib import Path

from remora.errors import OutsideError
from remora.files.git import git_output
from remora.text import too_large

_READ_AT_ONCE = ("HEAD", "commondir", "config", "config.worktree", "index", "info/exclude")
_MAX_BYTES = 1 << 20
_MAX_READ = 1 << 24
"""Maximum size of a configuration or excludes file in bytes. Each branch adds to the former."""


def check_git_files(root: Path) -> None:
    """Check the files that git reads first. Those that its configuration includes are not checked.

    Raises OutsideError if any of them is a pipe, a device or, except for the index, too large.
    """
    resolved = root.resolve()
    places = (place / ".git" for place in (resolved, *resolved.parents))
    git = next((place for place in places if place.exists()), None)
    if git is None or not git.is_dir():
        return
    for name in _READ_AT_ONCE:
        _check(git / name, sys.maxsize if name == "index" else _MAX_READ)


def check_excludes(root: Path, top: Path) -> None:
    """Check the excludes file set in git's configuration.

    Raises OutsideError if the file is a pipe, a device or too large, or if git fails.
    """
    output = git_output(root, "config", "--path", "-z", "core.excludesFile", succeeds=(0, 1))
    if output:
        _check(top / os.fsdecode(output.removesuffix(b"\0")))


def check_ignore_file(root: Path) -> None:
    """Check the `.gitignore` in `root`, which git reads as a whole.

    A symbolic link is not checked, because git does not read it. Raises OutsideError if the file is
    a pipe or a device, or larger than 1 MiB.
    """
    path = root / ".gitignore"
    if not path.is_symlink():
        _check(path, _MAX_BYTES)


def _check(path: Path, limit: int = _MAX_READ) -> None:
    if path.exists() and not (path.is_file() or path.is_dir() or str(path) == os.devnull):
        raise OutsideError(f"{path} is not a regular file")
    if path.is_file() and (size := path.stat().st_size) > limit:
        raise OutsideError(f"{path}: {too_large(size, limit)}")
