"""A change set merged with the user's tree as it is now; nothing is written."""

import hashlib
import os
import stat as st
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from remora.errors import HostError
from remora.files.walk import RESERVED_FOLDERS
from remora.workspaces.apply.merge import MergedText, merge3
from remora.workspaces.commit_files import committed_mode
from remora.workspaces.rooted_files import FILE_LIMIT, RootedFiles


class FilePatch(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a change set: its content in the base and in the workspace (None: absent).

    A new file gets mode 0755 if `mode` has the owner's executable bit, else 0644. A file that is
    there keeps its own mode. `restores`: the user's own deleted file comes back with `mode`.
    """

    path: str
    base: bytes | None
    theirs: bytes | None
    mode: int
    restores: bool = False


class FileWrite(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written: `ours` is what must stand there until then (None: nothing)."""

    path: str
    ours: bytes | None
    ours_sha: str | None
    result: bytes | None
    mode: int
    merged: bool


class FileConflict(msgspec.Struct, frozen=True, kw_only=True):
    """A file that cannot take the change, and why."""

    path: str
    detail: str


class PreparedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """A change set merged with the tree as it is; nothing is written yet.

    Files that already are as wanted have no write.
    """

    root: Path
    writes: tuple[FileWrite, ...]
    conflicts: tuple[FileConflict, ...]


ReadFile = Callable[[str], tuple[bytes | None, int]]
"""A file's content and permission bits; None for a name that is free. Raises HostError, which
names the path, for what is no regular file."""


def prepare_changes(
    root: Path, patches: Sequence[FilePatch], look: ReadFile | None = None
) -> PreparedChanges:
    """Compare each file with its base and merge where it moved on. Only reads.

    Files are the tree's as it stands, or what `look` says of them.
    """
    tree = RootedFiles(root.resolve())
    seen = look or partial(_ours, tree)
    writes: list[FileWrite] = []
    conflicts: list[FileConflict] = []
    for patch in sorted(patches, key=lambda patch: patch.path):
        try:
            write = _prepared(seen, patch)
        except HostError as error:
            detail = error.message.removeprefix(f"{patch.path}: ")
            conflicts.append(FileConflict(path=patch.path, detail=detail))
        else:
            writes += [write] if write else []
    return PreparedChanges(root=tree.root, writes=tuple(writes), conflicts=tuple(conflicts))


def _prepared(look: ReadFile, patch: FilePatch) -> FileWrite | None:
    if not RESERVED_FOLDERS.isdisjoint(part.casefold() for part in patch.path.split("/")):
        raise HostError("version control and recordings are not for a change set to write")
    ours, mode = look(patch.path)
    if ours == patch.theirs:
        return None
    result = patch.theirs
    merged = ours != patch.base
    if merged:
        result = _merged(patch, ours)
        if result == ours:
            return None  # theirs is a part of what the user did
    if ours is None:
        mode = patch.mode & 0o777 if patch.restores else committed_mode(patch.mode)
    sha256 = None if ours is None else hashlib.sha256(ours).hexdigest()
    return FileWrite(
        path=patch.path, ours=ours, ours_sha=sha256, result=result, mode=mode, merged=merged
    )


def _ours(tree: RootedFiles, path: str) -> tuple[bytes | None, int]:
    """The user's content and mode; None for a name that is free. Raises HostError."""
    if tree.exists(path):
        return tree.read_bytes(path, limit=FILE_LIMIT), st.S_IMODE(tree.stat(path).st_mode)
    try:
        with tree.open_parent(path) as (folder, name):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None, 0
    except HostError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None, 0  # its folder is missing too
        raise
    raise HostError(f"{path}: is a link or special file")


def _merged(patch: FilePatch, ours: bytes | None) -> bytes:
    if patch.base is None:
        raise HostError("exists already with another content")
    if ours is None:
        raise HostError("was deleted")
    if patch.theirs is None:
        raise HostError("was edited, and is to be deleted")
    merge = merge3(patch.base, ours, patch.theirs)
    if isinstance(merge, MergedText):
        return merge.content
    clash = merge.clashes[0]
    place = (
        f"line {clash.start}"
        if clash.end - clash.start < 2
        else (f"lines {clash.start} to {clash.end - 1}")
    )
    raise HostError(f"was edited where it is to be changed ({place} of the base)")
