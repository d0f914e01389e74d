"""One private copy of a base: read it, change it, say what changed, bring it back."""

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
    """The files of a base for one job alone, however that is done."""

    @property
    def tree(self) -> Path:
        """Where we find them; `seen_path` tells where commands do."""

    def state(self) -> CopyState:
        """What may differ from the base. Raises HostError if that cannot be told."""

    def reset(self) -> None:
        """Bring every file back to the base. Raises HostError, OSError, or DiskError."""


class Workspace:
    """A private copy of `base` in `tree`, held by one job at a time.

    Caches that tools write, and new files that the base's `.gitignore` files name, are no
    changes; a reset removes them all the same.
    """

    def __init__(self, base: BaseSnapshot, copy: WorkspaceCopy) -> None:
        self.base = base
        self.tree = copy.tree
        self._copy = copy
        self._files = RootedFiles(copy.tree)
        self._ignored: IgnoreRules | None = None

    def snapshot(self) -> dict[str, FileState]:
        """The state of every path that differs from the base: added, modified or deleted.

        Raises HostError if a tool made a link or a special file, or a folder nobody may read.
        """
        seen = self._copy.state()
        if seen.unsupported:
            raise HostError(
                f"{seen.unsupported[0]}: a link or special file has no place in a change"
            )
        found: dict[str, FileState] = {}
        for path, file in seen.files.items():
            known = self.base.files.get(path)
            changed = not self._is_ignored(path) if known is None else not matches_base(known, file)
            if changed:
                found[path] = FileState(file.sha256, file.mode)
        for path in seen.missing:
            found[path] = FileState(None, self.base.files[path].mode)
        return dict(sorted(found.items()))

    def read(self, path: str) -> bytes | None:
        """The content of a file now, None if it is absent. Raises HostError as `RootedFiles` does."""
        if not self._files.exists(path):
            return None
        return self._files.read_bytes(path, limit=FILE_LIMIT)

    def base_bytes(self, path: str) -> bytes | None:
        """The content of a file in the base, None if it has no such file."""
        return self.base.read(path)

    def set_files(self, files: Mapping[str, tuple[bytes | None, int]]) -> None:
        """Write files with content and permission bits; None removes one. Raises HostError."""
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
        """Bring every file back to the base. Raises HostError, OSError, or DiskError."""
        self._copy.reset()

    def _prune(self, path: str) -> None:
        """Remove folders that hold nothing any more: a file may be about to take the name."""
        above = path.rpartition("/")[0]
        while above:
            try:
                with self._files.open_parent(above) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:
                return
            above = above.rpartition("/")[0]

    def _is_ignored(self, path: str) -> bool:
        if self._ignored is None:
            self._ignored = IgnoreRules()
            for name in self.base.files:
                prefix, slash, last = name.rpartition("/")
                if last == ".gitignore":
                    self._ignored.read(self.base.folder, prefix + slash)
        return path.endswith(".pyc") or self._ignored.ignores(path)


class WorkspaceDriver(Protocol):
    """Hands out workspaces that equal one base, as many at a time as there are workers."""

    def open(self) -> AbstractContextManager[Workspace]:
        """A workspace equal to the base. Raises DiskError if it cannot be made."""

    def close(self) -> None:
        """Let go of what is kept from one to the next; all workspaces are closed by then."""


def matches_base(known: BaseFile, file: ScannedFile) -> bool:
    """Whether a file holds what it holds in the base, with the same rights."""
    return known.sha256 == file.sha256 and known.mode == file.mode
