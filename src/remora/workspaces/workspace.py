"""One private copy of a base: read it, change it, say what changed, bring it back."""

import os
import shutil
import stat as st
from collections.abc import Iterable, Mapping
from pathlib import Path

from remora.errors import DiskError, HostError
from remora.files import IgnoreRules
from remora.workspaces.base import Base, BaseFile
from remora.workspaces.beneath import FILE_LIMIT, Beneath
from remora.workspaces.changes import FileState
from remora.workspaces.scan import OURS, Scan, Seen, scan


class Workspace:
    """A private copy of `base` in `tree`, held by one job at a time.

    Caches that tools write, and new files that the base's `.gitignore` files name, are no
    changes; a reset removes them all the same.
    """

    def __init__(self, base: Base, tree: Path, index: dict[str, Seen] | None = None) -> None:
        self.base = base
        self.tree = tree
        self.index = index or {}
        self._files = Beneath(tree)
        self._folders = _folders(base.files)
        self._ignored: IgnoreRules | None = None

    def snapshot(self) -> dict[str, FileState]:
        """The state of every path that differs from the base: added, modified or deleted.

        Raises HostError if a tool made a link or a special file, or a folder nobody may read.
        """
        seen = self._look()
        if seen.odd:
            raise HostError(f"{seen.odd[0]}: a link or special file has no place in a change")
        found: dict[str, FileState] = {}
        for path, file in seen.files.items():
            known = self.base.files.get(path)
            changed = not self._is_ignored(path) if known is None else not _equal(known, file)
            if changed:
                found[path] = FileState(file.sha256, file.mode)
        for path in self.base.files.keys() - seen.files.keys():
            found[path] = FileState(None, self.base.files[path].mode)
        return dict(sorted(found.items()))

    def read(self, path: str) -> bytes | None:
        """The content of a file now, None if it is absent. Raises HostError as `Beneath` does."""
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
        seen = self._look()
        for path in self._folders.intersection(seen.closed):
            self._open_up(path)
        extra = [path for path in seen.folders if path not in self._folders]
        extra += [path for path in seen.files if path not in self.base.files]
        for path in extra + seen.junk + seen.odd:
            self._remove(path)
        for path, known in self.base.files.items():
            file = seen.files.get(path)
            if file is None or not _equal(known, file):
                self._copy(path)

    def _look(self) -> Scan:
        try:
            seen = scan(self.tree, self.index)
        except OSError as error:
            raise HostError(f"the workspace cannot be read: {error}") from error
        self.index = seen.files
        return seen

    def _copy(self, path: str) -> None:
        content = self.base.read(path)
        if content is None:
            raise DiskError(f"the base lost {path}")
        self.set_files({path: (content, self.base.files[path].mode)})

    def _remove(self, path: str) -> None:
        """Remove whatever has this name, unless it went with its folder already."""
        above = path.rpartition("/")[0]
        if above and above not in self._folders:
            return
        with self._files.parent(path) as (folder, name):
            try:
                os.unlink(name, dir_fd=folder)
            except (IsADirectoryError, PermissionError):
                shutil.rmtree(name, dir_fd=folder)

    def _open_up(self, path: str) -> None:
        """Give a folder back the rights that a job took away: the next one works in it too."""
        with self._files.parent(path) as (folder, name):
            handle = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fchmod(handle, st.S_IMODE(os.fstat(handle).st_mode) | OURS)
            finally:
                os.close(handle)

    def _prune(self, path: str) -> None:
        """Remove folders that hold nothing any more: a file may be about to take the name."""
        above = path.rpartition("/")[0]
        while above:
            try:
                with self._files.parent(above) as (folder, name):
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
        return path.endswith(".pyc") or self._ignored.cover(path)


def _folders(files: Iterable[str]) -> set[str]:
    """Every folder that leads to one of the files."""
    found: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in files}:
        above = folder
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _equal(known: BaseFile, file: Seen) -> bool:
    return known.sha256 == file.sha256 and known.mode == file.mode
