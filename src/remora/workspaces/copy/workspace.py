"""Workspace: a private copy of a base that one job reads, changes and resets."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from remora.errors import HostError
from remora.files.patterns import IgnoreRules
from remora.workspaces.copy.changes import FileState
from remora.workspaces.copy.scan import CopyState, ScannedFile
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot
from remora.workspaces.rooted_files import FILE_LIMIT, RootedFiles


class WorkspaceCopy(Protocol):
    """A private copy of a base. Implemented by slots and overlay layers."""

    @property
    def tree(self) -> Path:
        """Path of the copy. `path_for_command` returns the path as seen by commands."""

    def state(self) -> CopyState:
        """Return possible differences from the base. Raises HostError if the copy is unreadable."""

    def reset(self) -> None:
        """Restore every file of the base. Raises HostError, OSError or DiskError."""


class Workspace:
    """A private copy of `base` in `tree`, used by one job at a time.

    Caches of tools and files that match `.gitignore` are not changes. A reset removes them.
    """

    def __init__(self, base: BaseSnapshot, copy: WorkspaceCopy) -> None:
        self.base = base
        self.tree = copy.tree
        self._copy = copy
        self._files = RootedFiles(copy.tree)
        self._ignored: IgnoreRules | None = None

    def snapshot(self) -> dict[str, FileState]:
        """Return the state of every path that differs from the base.

        Raises HostError for links and special files.
        """
        state = self._copy.state()
        if state.unsupported:
            raise HostError(
                f"{state.unsupported[0]}: a change cannot contain a link or special file"
            )
        found: dict[str, FileState] = {}
        for path, file in state.files.items():
            known = self.base.files.get(path)
            changed = not self._is_ignored(path) if known is None else not matches_base(known, file)
            if changed:
                found[path] = FileState(file.sha256, file.mode)
        for path in state.missing:
            found[path] = FileState(None, self.base.files[path].mode)
        return dict(sorted(found.items()))

    def read(self, path: str) -> bytes | None:
        """Return the current content of a file, or None if it is missing.

        Raises HostError in the same cases as `RootedFiles`.
        """
        if not self._files.exists(path):
            return None
        return self._files.read_bytes(path, limit=FILE_LIMIT)

    def base_bytes(self, path: str) -> bytes | None:
        return self.base.read(path)

    def set_files(self, files: Mapping[str, tuple[bytes | None, int]]) -> None:
        """Write files with their content and permission bits.

        A file whose content is None is removed. Raises HostError.
        """
        for path, (content, _) in files.items():
            if content is None and self._files.exists(path):
                self._files.remove(path)
                self._prune(path)
        for path, (content, mode) in files.items():
            if content is None:
                continue
            if self._files.exists(path):
                self._files.write_bytes(path, content, mode=mode)
            else:
                self._files.create(path, content, mode)

    def reset(self) -> None:
        self._copy.reset()

    def _prune(self, path: str) -> None:
        """Remove empty folders above a path, so that a new file can use a folder's name."""
        parent = path.rpartition("/")[0]
        while parent:
            try:
                with self._files.open_parent(parent) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:
                return
            parent = parent.rpartition("/")[0]

    def _is_ignored(self, path: str) -> bool:
        if self._ignored is None:
            self._ignored = IgnoreRules()
            for name in self.base.files:
                prefix, slash, last = name.rpartition("/")
                if last == ".gitignore":
                    self._ignored.read(self.base.folder, prefix + slash)
        return path.endswith(".pyc") or self._ignored.ignores(path)


class WorkspaceDriver(Protocol):
    """Provides workspaces equal to one base, one per concurrent worker."""

    def open(self) -> AbstractContextManager[Workspace]:
        """Return a workspace equal to the base. Raises DiskError if it cannot be made."""

    def close(self) -> None:
        """Release shared resources, after all workspaces are closed."""


def matches_base(known: BaseFile, file: ScannedFile) -> bool:
    return known.sha256 == file.sha256 and known.mode == file.mode
