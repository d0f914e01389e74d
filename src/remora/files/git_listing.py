"""Tracked files of a git repository, and the files that define its ignore rules."""

import os
from pathlib import Path
from typing import NamedTuple

from remora.errors import OutsideError
from remora.files.git import git_output
from remora.files.git_guard import check_excludes, check_git_files

_LINK = b"160000"  # the mode of a submodule in the index


class GitPaths(NamedTuple):
    """Paths of the git files that determine which files are tracked and which are ignored."""

    top: Path
    index_file: Path
    sources: tuple[Path, ...]
    """Configuration and ignore files outside the project's folder, whether or not they exist."""


class GitIndex(NamedTuple):
    """Root-relative paths of tracked files and submodules."""

    tracked: tuple[str, ...]
    submodules: tuple[str, ...]


def git_root(root: Path) -> Path:
    """Return the root of the repository that contains `root`.

    Raises OutsideError if git is missing, if `root` is not in a repository, if the repository
    belongs to another user, or if it ignores `root`.
    """
    check_git_files(root)
    try:
        top = _output_path(root, "rev-parse", "--show-toplevel")
        check_excludes(root, top)
    except OutsideError as error:
        message = f"git cannot be used in {root}: {error.message}"
        raise OutsideError(message, hint=error.hint) from error
    if top != root.resolve() and _is_ignored(root):
        raise OutsideError(f"{root} is ignored by the git repository that contains it")
    return top


def git_paths(root: Path) -> GitPaths:
    """Return the paths of git's files for the repository that contains `root`.

    Raises whatever `git_root` raises.
    """
    top = git_root(root)
    names = ("config", "info/exclude", "index")
    # git prints one path per line; if a path contains a line break, query each path separately
    words = [word for name in names for word in ("--git-path", name)]
    lines = git_output(root, "rev-parse", *words).removesuffix(b"\n").split(b"\n")
    if len(lines) == len(names):
        config, exclude, index = (root / os.fsdecode(line) for line in lines)
    else:
        config, exclude, index = (
            _output_path(root, "rev-parse", "--git-path", name) for name in names
        )
    ignore_files = [
        place / ".gitignore" for place in root.resolve().parents if place.is_relative_to(top)
    ]
    return GitPaths(
        top=top, index_file=index, sources=(config, exclude, *ignore_files, *_configured(root, top))
    )


def git_index(root: Path) -> GitIndex:
    """Return the files and submodules tracked under `root`. Raises OutsideError if git fails."""
    tracked: list[str] = []
    submodules: list[str] = []
    for entry in git_output(root, "ls-files", "-s", "-z").split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if name:
            (submodules if about.startswith(_LINK) else tracked).append(os.fsdecode(name))
    return GitIndex(tuple(tracked), tuple(submodules))


def _output_path(root: Path, *words: str) -> Path:
    return root / os.fsdecode(git_output(root, *words).removesuffix(b"\n"))


def _is_ignored(root: Path) -> bool:
    try:
        git_output(root, "check-ignore", "-q", ".")
    except OutsideError:
        return False
    return True


def _configured(root: Path, top: Path) -> set[Path]:
    """Return the paths of git's configuration files and of the user's excludes file.

    The files may not exist.
    """
    found = {Path.home() / ".gitconfig", Path.home() / ".config/git/config", Path("/etc/gitconfig")}
    excludes = Path.home() / ".config/git/ignore"
    fields = git_output(root, "config", "--list", "--show-origin", "-z").split(b"\0")
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = os.fsdecode(entry).partition("\n")
        if origin.startswith(b"file:"):
            found.add(top / os.fsdecode(origin[5:]))
        if name == "core.excludesfile":
            excludes = top / _home(value)
    return {*found, excludes}


def _home(path: str) -> Path:
    return Path.home() / path[2:] if path.startswith("~/") else Path(path)
