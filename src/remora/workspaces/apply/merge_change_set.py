"""Three-way merge of a change set with the user's files. Nothing is written to disk."""

import hashlib
import os
import stat as st
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from remora.errors import HostError
from remora.files.reserved_names import Kind, reserved
from remora.workspaces.apply.merge_lines import merge3
from remora.workspaces.commit_files import committed_mode
from remora.workspaces.rooted_files import RootedFiles

_RESERVED: dict[Kind, str] = {
    "records": "version control and recordings",
    "settings": "Remora's settings and agents",
}


class FilePatch(msgspec.Struct, frozen=True, kw_only=True):
    """Change to a file."""

    path: str
    base: bytes | None
    """The original content, or None if there was no file."""
    theirs: bytes | None
    """The content in the workspace, or None if there is no file."""
    mode: int
    """Decides if a new file gets mode 0755 or 0644. An existing file keeps its mode."""
    restores: bool = False
    """True if a deleted file is restored, with exactly `mode`."""


class FileWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A planned write."""

    path: str
    ours: bytes | None
    """What the file must still contain when it is written. None if it must not exist."""
    ours_sha: str | None
    result: bytes | None
    """The new content, or None if the file is deleted."""
    mode: int
    merged: bool


class FileConflict(msgspec.Struct, frozen=True, kw_only=True):
    """A file to which the change cannot be applied."""

    path: str
    detail: str
    """The reason."""


class PreparedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Result of merging a change set with the current tree.

    Files that need no change are omitted.
    """

    root: Path
    writes: tuple[FileWrite, ...]
    conflicts: tuple[FileConflict, ...]


ReadFile = Callable[[str], tuple[bytes | None, int]]
"""Returns a file's content, or None if missing, and its mode.

Raises HostError if it is not a regular file.
"""


def prepare_changes(
    root: Path, patches: Sequence[FilePatch], read_file: ReadFile | None = None
) -> PreparedChanges:
    """Merge each patch with the user's file, or with the file returned by `read_file`. Nothing is
    written.
    """
    tree = RootedFiles(root.resolve())
    read = read_file or partial(_read_user_file, tree)
    writes: list[FileWrite] = []
    conflicts: list[FileConflict] = []
    for patch in sorted(patches, key=lambda patch: patch.path):
        try:
            write = _merge_patch(read, patch)
        except HostError as error:
            detail = error.message.removeprefix(f"{patch.path}: ")
            conflicts.append(FileConflict(path=patch.path, detail=detail))
        else:
            writes += [write] if write else []
    return PreparedChanges(root=tree.root, writes=tuple(writes), conflicts=tuple(conflicts))


def _merge_patch(read_file: ReadFile, patch: FilePatch) -> FileWrite | None:
    if (kind := reserved(patch.path)) is not None:
        raise HostError(f"a change set cannot write {_RESERVED[kind]}")
    ours, mode = read_file(patch.path)
    if ours == patch.theirs:
        return None
    result = patch.theirs
    merged = ours != patch.base
    if merged and (result := _merge(patch, ours)) == ours:
        return None  # the user's edit already includes it
    if ours is None:
        mode = patch.mode & 0o777 if patch.restores else committed_mode(patch.mode)
    sha256 = None if ours is None else hashlib.sha256(ours).hexdigest()
    return FileWrite(
        path=patch.path, ours=ours, ours_sha=sha256, result=result, mode=mode, merged=merged
    )


def _read_user_file(tree: RootedFiles, path: str) -> tuple[bytes | None, int]:
    """Return the content and mode of a user's file. The content is None if the file is missing.

    Raises HostError if it is not a regular file or cannot be read.
    """
    if tree.exists(path):
        return tree.read_bytes(path), st.S_IMODE(tree.stat(path).st_mode)
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


def _merge(patch: FilePatch, ours: bytes | None) -> bytes:
    if patch.base is None:
        raise HostError("already exists with other content")
    if ours is None:
        raise HostError("was deleted")
    if patch.theirs is None:
        raise HostError("was edited, but the change deletes it")
    merged = merge3(patch.base, ours, patch.theirs)
    if isinstance(merged, bytes):
        return merged
    first, last = merged[0].start, merged[0].end - 1
    place = f"lines {first} to {last}" if last > first else f"line {first}"
    raise HostError(f"was edited at the same lines after the run started ({place} then)")
