"""Writing and rollback of journal entries. Every step reads the current state from disk."""

import errno
import hashlib
import os
import stat as st
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from remora.errors import HostError
from remora.ids import unescape_path
from remora.regular_file import READ_NO_FOLLOW, closing_fd
from remora.workspaces.apply.atomic_rename import (
    NOT_REGULAR,
    OPEN_FOR_WRITING,
    digest_at,
    digest_unless_open,
    is_same_file,
    rename_to_free,
    repair_swap,
    swap_names,
    sync_folder,
    unlink_if_exists,
)
from remora.workspaces.apply.journal import Journal, JournalEntry, JournalFolder
from remora.workspaces.rooted_files import RootedFiles, write_new_file

_MOVED = "its folder was moved in the meantime"
_MAX_OPEN_FOLDERS = 256  # folders kept open at once; enough for all but the largest change sets
_TRIES = 100
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE}


class FileSwapper(AbstractContextManager["FileSwapper"]):
    """Writes the files of a journal to the tree, and rolls them back.

    For each file, a temporary file in the same folder shows how far the write has progressed. Its
    name is called the waiting name. The temporary file is created with the complete new content.
    After the swap, it has the old content. It is removed when all files are in place.

    Folders are kept open, so that a rollback works even if they are moved. `resumed` is True if an
    earlier process may already have written some of the files.
    """

    def __init__(
        self, tree: RootedFiles, journal: Journal, store: JournalFolder, *, resumed: bool = False
    ) -> None:
        self._tree = tree
        self._journal = journal
        self._store = store
        self._resumed = resumed
        self._open_folders: dict[str, int] = {}

    def __exit__(self, *_: object) -> None:
        for handle in self._open_folders.values():
            os.close(handle)
        self._open_folders.clear()

    def put_in_place(self, entry: JournalEntry) -> str:
        """Put a file in place.

        Return an empty string, or a description of what has changed in the tree. Raises OSError.
        """
        path = unescape_path(entry.path)
        waiting = self._journal.waiting_name(entry)
        try:
            with self._folder(path, make=entry.ours is None) as (folder, name):
                repair_swap(folder, name, waiting)
                if entry.ours is None:
                    self._create(entry, folder, name, waiting)
                elif entry.result is None:
                    self._delete(folder, name, waiting)
                else:
                    self._replace(entry, folder, name, waiting)
                sync_folder(folder)
        except (OSError, HostError) as error:
            return _describe(error, path)
        return self.check(entry)

    def check(self, entry: JournalEntry) -> str:
        """Return an empty string if the expected file was replaced, or a description of what has
        changed.
        """
        path = unescape_path(entry.path)
        try:
            with self._folder(path) as (folder, name):
                if self._has_moved(path, folder):
                    return _MOVED
                return self._objection(entry, folder, name)
        except (HostError, OSError):
            return _MOVED

    def take_back(self, entry: JournalEntry) -> str:
        """Roll back a file.

        Return an empty string, or a message about any other content that was found and kept.
        """
        path = unescape_path(entry.path)
        waiting = self._journal.waiting_name(entry)
        try:
            with self._folder(path) as (folder, name):
                repair_swap(folder, name, waiting)
                if entry.ours is None:
                    problem = self._uncreate(entry, folder, name, waiting)
                elif entry.result is None:
                    problem = self._undelete(entry, folder, name, waiting)
                else:
                    problem = self._unreplace(entry, folder, name, waiting)
                sync_folder(folder)
        except HostError:  # its folder no longer exists, so there is nothing to roll back
            if self._resumed and entry.ours is not None:
                left = os.fsdecode(waiting)
                return f"its folder no longer exists; if you moved it, look for {left} in it"
            return ""
        return problem

    def remove_waiting(self, entry: JournalEntry) -> None:
        """Remove the file's temporary files. Call this after all files are in place."""
        waiting = self._journal.waiting_name(entry)
        with suppress(HostError), self._folder(unescape_path(entry.path)) as (folder, _):
            unlink_if_exists(folder, waiting)
            unlink_if_exists(folder, waiting + b"-part")

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        parent, _, last = path.rpartition("/")
        if parent in self._open_folders:
            yield self._open_folders[parent], os.fsencode(last)
            return
        with self._tree.open_parent(path, make=make) as (folder, name):
            if len(self._open_folders) < _MAX_OPEN_FOLDERS:
                self._open_folders[parent] = os.dup(folder)
            yield folder, name

    def _has_moved(self, path: str, folder: int) -> bool:
        with self._tree.open_parent(path) as (now, _):
            return not os.path.samestat(os.fstat(now), os.fstat(folder))

    def _objection(self, entry: JournalEntry, folder: int, name: bytes) -> str:
        if entry.ours is None:
            return ""
        out = digest_unless_open(folder, self._journal.waiting_name(entry))
        if out is None and digest_at(folder, name) == entry.result:
            return ""  # in place; the waiting name was removed by another program
        if out == entry.ours:
            return ""
        if out == OPEN_FOR_WRITING:
            return "another program has it open for writing"
        if out == NOT_REGULAR:
            return f"it was replaced by a {out}"
        return "it was edited in the meantime"

    def remove_folders(self) -> None:
        """Remove the folders that this journal created, if they are empty."""
        for spelled in sorted(self._journal.folders, key=len, reverse=True):
            path = unescape_path(spelled)
            with suppress(HostError, OSError), self._tree.open_parent(path) as (folder, name):
                os.rmdir(name, dir_fd=folder)

    def _create(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> None:
        if digest_at(folder, waiting) is None:
            if (there := digest_at(folder, name)) == entry.result:
                return
            if there is not None:
                raise FileExistsError
            self._write(entry, folder, name, waiting, new=True)
        rename_to_free(folder, waiting, name)

    def _delete(self, folder: int, name: bytes, waiting: bytes) -> None:
        if digest_at(folder, waiting) is None or is_same_file(folder, name, waiting):
            rename_to_free(folder, name, waiting)

    def _replace(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> None:
        if digest_at(folder, waiting) is None:
            if digest_at(folder, name) == entry.result:
                return
            self._write(entry, folder, name, waiting, new=True)
        if digest_at(folder, waiting) == entry.result:
            swap_names(folder, name, waiting)
        self._carry_mode(entry, folder, name, waiting)

    def _carry_mode(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> None:
        """Copy the mode of the old file to the new file if the user has changed it."""
        with suppress(OSError):
            old, new = (os.stat(n, dir_fd=folder, follow_symlinks=False) for n in (waiting, name))
            modes = st.S_IMODE(old.st_mode), st.S_IMODE(new.st_mode)
            if st.S_ISREG(old.st_mode) and st.S_ISREG(new.st_mode) and modes[0] != entry.mode:
                with closing_fd(os.open(name, READ_NO_FOLLOW, dir_fd=folder)) as handle:
                    if modes[1] == entry.mode:
                        os.fchmod(handle, modes[0])

    def _write(
        self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes, *, new: bool
    ) -> None:
        """Write the new or old content to the waiting name. The write is atomic."""
        if digest_at(folder, waiting) is not None:
            return
        content = self._store.content(f"{entry.number}.{'new' if new else 'old'}")
        if hashlib.sha256(content).hexdigest() != (entry.result if new else entry.ours):
            raise HostError("its copy in the journal is damaged")
        part = waiting + b"-part"
        unlink_if_exists(folder, part)
        write_new_file(folder, part, content, entry.mode)
        with suppress(OSError):  # keep the file's owner where permitted
            self._give_owner(entry, folder, name, part)
        with closing_fd(os.open(part, READ_NO_FOLLOW, dir_fd=folder)) as handle:
            os.fsync(handle)
        rename_to_free(folder, part, waiting)

    def _give_owner(self, entry: JournalEntry, folder: int, name: bytes, part: bytes) -> None:
        if entry.ours is None:
            return
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
        new = os.stat(part, dir_fd=folder, follow_symlinks=False)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid) and st.S_ISREG(old.st_mode):
            os.chown(part, old.st_uid, old.st_gid, dir_fd=folder, follow_symlinks=False)
            os.chmod(part, entry.mode, dir_fd=folder)

    def _uncreate(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        problem = ""
        if digest_at(folder, waiting) is not None:
            if is_same_file(folder, name, waiting):
                unlink_if_exists(folder, name)
            unlink_if_exists(folder, waiting)  # the rename had not finished
        elif digest_at(folder, name) == entry.result:
            rename_to_free(folder, name, waiting)
            if digest_unless_open(folder, waiting) == entry.result:
                unlink_if_exists(folder, waiting)
            else:
                problem = (
                    self._rename_back(entry, folder, name, waiting)
                    or "it was edited after it had been created, and was kept"
                )
        unlink_if_exists(folder, waiting + b"-part")
        return problem

    def _undelete(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        if digest_at(folder, waiting) is None:
            return ""
        return self._rename_back(entry, folder, name, waiting)

    def _rename_back(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        try:
            rename_to_free(folder, waiting, name)
        except FileExistsError:
            return self._keep(entry, folder, waiting)
        return ""

    def _unreplace(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        unlink_if_exists(folder, waiting + b"-part")
        out, now = digest_at(folder, waiting), digest_at(folder, name)
        if (
            out is None and now == entry.result
        ):  # the waiting file was removed, but the journal has the old content
            self._write(entry, folder, name, waiting, new=False)
            out = digest_at(folder, waiting)
        if out is None:
            return ""
        if out == entry.result:
            unlink_if_exists(folder, waiting)  # not swapped
            return ""
        if now != entry.result:  # the user has edited or deleted it: keep that
            return self._keep(entry, folder, waiting, is_missing=now is None)
        try:
            return self._exchange_back(entry, folder, name, waiting)
        except FileNotFoundError:
            return self._keep(entry, folder, waiting, is_missing=True)

    def _exchange_back(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        """Swap the old file back into place.

        The swap is repeated until it displaces the file that was written. Any other displaced file
        contains newer edits, and is put back.
        """
        there = entry.result
        for _ in range(_TRIES):
            put = digest_at(folder, waiting)
            swap_names(folder, name, waiting)
            self._carry_mode(entry, folder, name, waiting)
            if digest_unless_open(folder, waiting) == there:
                break
            there = put
        if digest_at(folder, waiting) == entry.result and there == entry.result:
            unlink_if_exists(folder, waiting)
            return ""
        return self._keep(entry, folder, waiting)

    def _keep(
        self, entry: JournalEntry, folder: int, waiting: bytes, *, is_missing: bool = False
    ) -> str:
        """Keep the user's latest version in place, and return a message about it.

        If an earlier version is left over, it is not deleted. The message contains its path.
        """
        if digest_unless_open(folder, waiting) in (entry.ours, entry.result):
            unlink_if_exists(folder, waiting)
            if is_missing:
                return "it was deleted or renamed in the meantime, and was not restored"
            return "it was edited during the rollback; the edit was kept"
        parent = unescape_path(entry.path).rpartition("/")[0]
        leftover = os.path.join(parent, os.fsdecode(waiting))  # noqa: PTH118 (relative to the root)
        return f"it was edited twice; the earlier version is in {leftover}"


def _describe(error: OSError | HostError, path: str) -> str:
    """Return a description of the change that caused the error. Raises OSError if it is a disk
    error.
    """
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno in _DISK:
        raise cause
    if isinstance(error, HostError):
        return error.message.removeprefix(f"{path}: ")
    if isinstance(error, FileNotFoundError):
        return "it was deleted in the meantime"
    if isinstance(error, FileExistsError):
        return "it was created in the meantime"
    return f"it cannot be written: {error.strerror}"
