"""Listing of a project's files, by git or by a directory walk."""

import os
import stat as st
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from remora.errors import OutsideError
from remora.files.git import git_output
from remora.files.git_guard import check_ignore_file
from remora.files.git_listing import git_root
from remora.files.walk import RESERVED_FOLDERS, included_files, is_dependency_folder, walk


class ProjectFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The project's regular files."""

    paths: tuple[str, ...]
    """Sorted root-relative POSIX paths. Bytes that are not UTF-8 are surrogate-escaped."""
    commit: str | None
    """The commit at HEAD, if any."""
    skipped: tuple[tuple[str, str], ...]
    """Pairs of path and reason."""
    note: str
    """Why git was not used, or an empty string."""


def project_files(root: Path, *, include: Sequence[str] = ()) -> ProjectFiles:
    """Return the files of the project at `root`, which may be a folder inside a git repository.

    `include` contains globs of ignored files to add. Symbolic links, `.agentfs/`, `.env*`, and
    untracked files in a virtual environment or `node_modules` are left out. Raises ConfigError if
    an `include` glob refers to a path outside the root.
    """
    try:
        listed, commit = _from_git(root)
        note = ""
    except OutsideError as error:
        listed, commit, note = walk(root), None, error.message
    names = {*listed, *included_files(root, include)}
    paths: list[str] = []
    skipped: list[tuple[str, str]] = []
    kinds = _Kinds(root)
    for path in sorted(names):
        if reason := kinds.why_not(path):
            skipped.append((path, reason))
        elif reason is None and not is_private(path):
            paths.append(path)
    return ProjectFiles(paths=tuple(paths), commit=commit, skipped=tuple(skipped), note=note)


def is_private(path: str) -> bool:
    """Return True for a path that is never copied.

    Recordings, version control data and `.env*` files are never copied.
    """
    return any(part in RESERVED_FOLDERS or part.startswith(".env") for part in path.split("/"))


def _from_git(root: Path) -> tuple[list[str], str | None]:
    git_root(root)
    check_ignore_file(root)
    listing = git_output(root, "ls-files", "-co", "-t", "--exclude-standard", "-z")
    # 1 and 128: the repository has no commits
    head = git_output(root, "rev-parse", "--verify", "-q", "HEAD^{commit}", succeeds=(0, 1, 128))
    return _names(root, listing), head.decode().strip() or None


def _names(root: Path, listing: bytes) -> list[str]:
    """Return tracked files, and untracked files not in virtual environments or `node_modules`."""
    own = own_folders(root)
    named = [(entry[:1], os.fsdecode(entry[2:])) for entry in listing.split(b"\0") if entry]
    return [path for tag, path in named if tag != b"?" or own.contain(path)]


class Folders:
    """Folders that are accepted together with all folders above them."""

    def __init__(self, accepts: Callable[[str], bool]) -> None:
        self._accepts = accepts
        self._known: dict[str, bool] = {"": True}

    def contain(self, path: str) -> bool:
        """Return True if all folders above a path are accepted."""
        unknown: list[str] = []
        above = path.rpartition("/")[0]
        while above not in self._known:
            unknown.append(above)
            above = above.rpartition("/")[0]
        are_accepted = self._known[above]
        for folder in reversed(unknown):
            are_accepted = self._known[folder] = are_accepted and self._accepts(folder)
        return are_accepted


def own_folders(root: Path) -> Folders:
    """Return the folders that are not in a virtual environment or in `node_modules`."""
    return Folders(lambda folder: not is_dependency_folder(root, folder))


class _Kinds:
    """Checks the types of files without following symbolic links in their paths."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._folders = Folders(lambda folder: st.S_ISDIR(self._mode(folder)))

    def why_not(self, path: str) -> str | None:
        """Return the reason to skip a path, or None for a regular file.

        For a missing path, the reason is an empty string.
        """
        if path.endswith("/"):
            return "another repository"
        try:
            mode = self._mode(path)
        except OSError:
            return ""
        if not self._folders.contain(path):
            return "behind a symbolic link"
        if st.S_ISREG(mode):
            return None
        return "symbolic link" if st.S_ISLNK(mode) else "not a regular file"

    def _mode(self, path: str) -> int:
        return os.lstat(f"{self._root}/{path}").st_mode
