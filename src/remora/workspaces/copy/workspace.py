"""Workspace: a private copy of a base that a job can read, change and reset."""

import os
import stat as st
from collections.abc import Iterable, Mapping
from pathlib import Path

from remora.errors import HostError
from remora.files.patterns import IgnoreRules
from remora.regular_file import closing_fd
from remora.rmtree import remove_tree
from remora.workspaces.copy.changes import FileState
from remora.workspaces.copy.scan import OWNER_RIGHTS, ScannedFile, TreeScan, scan_tree
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot
from remora.workspaces.rooted_files import RootedFiles


class Workspace:
    """A private copy of `base` in `tree`. Only one job at a time uses it.

    Tool caches and files that match `.gitignore` do not count as changes, but a reset removes them.
    A scan hashes only files whose status differs from that in `index`, the last scan.
    """

    def __init__(self, base: BaseSnapshot, tree: Path, index: Mapping[str, ScannedFile]) -> None:
        self.base = base
        self.tree = tree
        self.index = index
        self._files = RootedFiles(tree)
        self._folders = _folders(base.files)
        self._ignored: IgnoreRules | None = None

    def snapshot(self) -> dict[str, FileState]:
        """Return the state of every path that differs from the base.

        Raises HostError if the workspace contains links or special files.
        """
        scan = self._scan()
        if scan.unsupported:
            raise HostError(
                f"{scan.unsupported[0]}: a change cannot contain a link or special file"
            )
        found: dict[str, FileState] = {}
        for path, file in scan.files.items():
            known = self.base.files.get(path)
            changed = not self._is_ignored(path) if known is None else not _is_same(known, file)
            if changed:
                found[path] = FileState(file.sha256, file.mode)
        for path in self.base.files.keys() - scan.files.keys():
            found[path] = FileState(None, self.base.files[path].mode)
        return dict(sorted(found.items()))

    def has_settings_of_base(self) -> bool:
        """Return True if only the contents of Python modules differ from the base.

        Ignored files count, too. A setup.py is not a module.
        """
        try:
            scan = self._scan()
        except HostError:
            return False
        if scan.unsupported or self.base.files.keys() != scan.files.keys():
            return False
        return all(
            _is_same(known, file) or _is_edited(path, known, file)
            for path, file in scan.files.items()
            for known in (self.base.files[path],)
        )

    def read(self, path: str) -> bytes | None:
        """Return the current content of a file, or None if it is missing.

        Raises HostError in the same cases as `RootedFiles`.
        """
        try:
            return self._files.read_bytes(path)
        except HostError:
            if self._files.exists(path):
                raise
            return None

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
        """Restore every file of the base, and remove all other files. Raises HostError, OSError or
        DiskError.
        """
        scan = self._scan()
        for path in self._folders.intersection(scan.closed):
            self._restore_rights(path)
        extra = [path for path in scan.folders if path not in self._folders]
        extra += [path for path in scan.files if path not in self.base.files]
        for path in extra + scan.tool_caches + scan.unsupported:
            self._remove(path)
        for path, known in self.base.files.items():
            file = scan.files.get(path)
            if file is None or not _is_same(known, file):
                self._files.put(path, self.base.pieces(path), mode=known.mode)

    def _scan(self) -> TreeScan:
        try:
            scan = scan_tree(self.tree, self.index)
        except OSError as error:
            raise HostError(f"the workspace cannot be read: {error}") from error
        self.index = scan.files
        return scan

    def _remove(self, path: str) -> None:
        """Remove an entry, unless it has been removed together with its folder."""
        parent = path.rpartition("/")[0]
        if parent and parent not in self._folders:
            return
        with self._files.open_parent(path) as (folder, name):
            try:
                os.unlink(name, dir_fd=folder)
            except (IsADirectoryError, PermissionError):
                remove_tree(name, dir_fd=folder)

    def _restore_rights(self, path: str) -> None:
        """Restore the owner's permissions for a folder if a job has removed them."""
        with self._files.open_parent(path) as (folder, name):
            flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            with closing_fd(os.open(name, flags, dir_fd=folder)) as handle:
                os.fchmod(handle, st.S_IMODE(os.fstat(handle).st_mode) | OWNER_RIGHTS)

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


def _folders(files: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in files}:
        above = folder
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _is_edited(path: str, known: BaseFile, file: ScannedFile) -> bool:
    """Return True if a changed file is a Python module with unchanged permissions."""
    is_module = path.endswith((".py", ".pyi")) and path.rpartition("/")[2] != "setup.py"
    return is_module and known.mode == file.mode


def _is_same(known: BaseFile, file: ScannedFile) -> bool:
    return known.sha256 == file.sha256 and known.mode == file.mode
