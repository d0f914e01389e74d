"""Workspace: a private copy of a base that a job can read, change and reset."""

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
from remora.workspaces.rooted_files import RootedFiles


class WorkspaceCopy(Protocol):
    """A private copy of a base. Slots and overlay layers implement this protocol."""

    @property
    def tree(self) -> Path:
        """Path of the copy. Use `path_for_command` to get the path as seen by commands."""

    def state(self) -> CopyState:
        """Return the files that may differ from the base. Raises HostError if the copy cannot be
        read.
        """

    def reset(self) -> None:
        """Restore every file of the base. Raises HostError, OSError or DiskError."""


class Workspace:
    """A private copy of `base` in `tree`. Only one job at a time uses it.

    Tool caches and files that match `.gitignore` do not count as changes, but a reset removes them.
    """

    def __init__(self, base: BaseSnapshot, copy: WorkspaceCopy) -> None:
        self.base = base
        self.tree = copy.tree
        self._copy = copy
        self._files = RootedFiles(copy.tree)
        self._ignored: IgnoreRules | None = None

    def snapshot(self) -> dict[str, FileState]:
        """Return the state of every path that differs from the base.

        Raises HostError if the workspace contains links or special files.
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

    def has_settings_of_base(self) -> bool:
        """Return True if only the contents of Python modules differ from the base.

        Ignored files count, too. A setup.py is not a module.
        """
        try:
            state = self._copy.state()
        except HostError:
            return False
        if state.unsupported or any(True for _ in state.missing):
            return False
        return all(
            known is not None and (matches_base(known, file) or _is_edited(path, known, file))
            for path, file in state.files.items()
            for known in (self.base.files.get(path),)
        )

    def read(self, path: str) -> bytes | None:
        """Return the current content of a file, or None if it is missing.

        Raises HostError in the same cases as `RootedFiles`.
        """
        if not self._files.exists(path):
            return None
        return self._files.read_bytes(path)

    def base_bytes(self, path: str) -> bytes | None:
        return self.base.read(path)

    def set_files(self, files: Mapping[str, tuple[bytes | None, int]]) -> None:
        """Write files with the given content and permission bits.

        If the content is None, the file is removed. Raises HostError.
        """
        for path, (content, _) in files.items():
            if content is None and self._files.exists(path):
                self._files.remove(path)
                self._prune(path)
        for path, (content, mode) in files.items():
            if content is not None:
                self._files.put(path, content, mode=mode)

    def reset(self) -> None:
        self._copy.reset()

    def _prune(self, path: str) -> None:
        """Remove empty folders above a path, so that a new file can have the same name as a
        folder.
        """
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
    """Provides workspaces equal to a base, one for each concurrent worker."""

    def open(self) -> AbstractContextManager[Workspace]:
        """Return a workspace equal to the base. Raises DiskError if it cannot be created."""

    def close(self) -> None:
        """Release shared resources. All workspaces must be closed first."""


def _is_edited(path: str, known: BaseFile, file: ScannedFile) -> bool:
    """Return True if a changed file is a Python module with unchanged permissions."""
    is_module = path.endswith((".py", ".pyi")) and path.rpartition("/")[2] != "setup.py"
    return is_module and known.mode == file.mode


def matches_base(known: BaseFile, file: ScannedFile) -> bool:
    return known.sha256 == file.sha256 and known.mode == file.mode
