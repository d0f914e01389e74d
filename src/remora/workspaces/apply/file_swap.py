"""One file of a journal into its place, or back: every state between is told from the disk."""

import errno
import hashlib
import os
import stat as st
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from remora.errors import HostError
from remora.ids import unspell_path
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

_MOVED = "its folder was moved meanwhile"
_HELD = 256
"""Folders that are kept open at once: those of all but the hugest change sets."""
_TRIES = 100
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE}


class FileSwapper(AbstractContextManager["FileSwapper"]):
    """The steps for the files of one journal beneath one root.

    The waiting name tells how far a file has come: it appears with the whole new text, and holds
    the old text once the names were exchanged. It goes only when all files are in place.
    A folder stays open from the first step on: what was begun in it can be taken back wherever it
    is moved. `resumed`: another process may have begun.
    """

    def __init__(
        self, tree: RootedFiles, journal: Journal, store: JournalFolder, *, resumed: bool = False
    ) -> None:
        self._tree = tree
        self._journal = journal
        self._store = store
        self._resumed = resumed
        self._held: dict[str, int] = {}

    def __exit__(self, *_: object) -> None:
        for handle in self._held.values():
            os.close(handle)
        self._held.clear()

    def put_in_place(self, entry: JournalEntry) -> str:
        """Put a file in place. Empty if it is, else why it cannot be: the tree moved on. Raises
        OSError where the disk is full or fails."""
        path = unspell_path(entry.path)
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
            return _why_not(error, path)
        return self.check(entry)

    def check(self, entry: JournalEntry) -> str:
        """Whether what was taken out is what was checked, and stays so; empty if so."""
        path = unspell_path(entry.path)
        try:
            with self._folder(path) as (folder, name):
                if self._has_moved(path, folder):
                    return _MOVED
                return self._objection(entry, folder, name)
        except (HostError, OSError):
            return _MOVED

    def take_back(self, entry: JournalEntry) -> str:
        """Take a file back. Empty if it stands as before, else what else was found and kept."""
        path = unspell_path(entry.path)
        waiting = self._journal.waiting_name(entry)
        try:
            with self._folder(path) as (folder, name):
                repair_swap(folder, name, waiting)
                if entry.ours is None:
                    told = self._uncreate(entry, folder, name, waiting)
                elif entry.result is None:
                    told = self._undelete(entry, folder, name, waiting)
                else:
                    told = self._unreplace(entry, folder, name, waiting)
                sync_folder(folder)
        except HostError:  # its folder is gone, and with it all that could be taken back
            if self._resumed and entry.ours is not None:
                return (
                    f"its folder is gone; where you moved it, look for {os.fsdecode(waiting)} in it"
                )
            return ""
        return told

    def remove_waiting(self, entry: JournalEntry) -> None:
        """Remove the waiting name once every file is in place."""
        waiting = self._journal.waiting_name(entry)
        with suppress(HostError), self._folder(unspell_path(entry.path)) as (folder, _):
            unlink_if_exists(folder, waiting)
            unlink_if_exists(folder, waiting + b"-part")

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        above, _, last = path.rpartition("/")
        if above in self._held:
            yield self._held[above], os.fsencode(last)
            return
        with self._tree.open_parent(path, make=make) as (folder, name):
            if len(self._held) < _HELD:
                self._held[above] = os.dup(folder)
            yield folder, name

    def _has_moved(self, path: str, folder: int) -> bool:
        with self._tree.open_parent(path) as (now, _):
            return not os.path.samestat(os.fstat(now), os.fstat(folder))

    def _objection(self, entry: JournalEntry, folder: int, name: bytes) -> str:
        if entry.ours is None:
            return ""
        out = digest_unless_open(folder, self._journal.waiting_name(entry))
        if out is None and digest_at(folder, name) == entry.result:
            return ""  # in place; someone tidied the waiting name before we could
        if out == entry.ours:
            return ""
        if out == OPEN_FOR_WRITING:
            return "another program has it open for writing"
        return f"it became a {out} meanwhile" if out == NOT_REGULAR else "it was edited meanwhile"

    def remove_folders(self) -> None:
        """Remove folders that were made on the way and hold nothing."""
        for spelled in sorted(self._journal.folders, key=len, reverse=True):
            path = unspell_path(spelled)
            with suppress(HostError, OSError), self._tree.open_parent(path) as (folder, name):
                os.rmdir(name, dir_fd=folder)

    def _create(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> None:
        if digest_at(folder, waiting) is None:
            there = digest_at(folder, name)
            if there == entry.result:
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
        """What the user made of the mode of the file that went holds for the one that came."""
        with suppress(OSError):
            went, came = (
                os.stat(one, dir_fd=folder, follow_symlinks=False) for one in (waiting, name)
            )
            modes = st.S_IMODE(went.st_mode), st.S_IMODE(came.st_mode)
            if st.S_ISREG(went.st_mode) and st.S_ISREG(came.st_mode) and modes[0] != entry.mode:
                handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                try:
                    if modes[1] == entry.mode:
                        os.fchmod(handle, modes[0])
                finally:
                    os.close(handle)

    def _write(
        self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes, *, new: bool
    ) -> None:
        """The new (or old) text under the waiting name, whole or not at all."""
        if digest_at(folder, waiting) is not None:
            return
        content = self._store.content(f"{entry.number}.{'new' if new else 'old'}")
        if hashlib.sha256(content).hexdigest() != (entry.result if new else entry.ours):
            raise HostError("the journal's copy of it is damaged")
        part = waiting + b"-part"
        unlink_if_exists(folder, part)
        write_new_file(folder, part, content, entry.mode)
        with suppress(OSError):  # another owner's file stays theirs where we may say so
            self._give_owner(entry, folder, name, part)
        handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
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
        told = ""
        if digest_at(folder, waiting) is not None:
            if is_same_file(folder, name, waiting):
                unlink_if_exists(folder, name)
            unlink_if_exists(folder, waiting)  # it was never quite placed
        elif digest_at(folder, name) == entry.result:
            rename_to_free(folder, name, waiting)
            if digest_unless_open(folder, waiting) == entry.result:
                unlink_if_exists(folder, waiting)
            else:
                told = self._recreate(entry, folder, name, waiting)
        unlink_if_exists(folder, waiting + b"-part")
        return told

    def _recreate(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        try:
            rename_to_free(folder, waiting, name)
        except FileExistsError:
            return self._keep(entry, folder, waiting)
        return "it was edited after it had been created, and kept"

    def _undelete(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        if digest_at(folder, waiting) is None:
            return ""
        try:
            rename_to_free(folder, waiting, name)
        except FileExistsError:
            return self._keep(entry, folder, waiting)
        return ""

    def _unreplace(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        unlink_if_exists(folder, waiting + b"-part")
        out, now = digest_at(folder, waiting), digest_at(folder, name)
        if out is None and now == entry.result:  # someone tidied: the journal has the old text
            self._write(entry, folder, name, waiting, new=False)
            out = digest_at(folder, waiting)
        if out is None:
            return ""
        if out == entry.result:
            unlink_if_exists(folder, waiting)  # not exchanged
            return ""
        if now != entry.result:  # the user wrote again, or deleted it: so it stays
            return self._keep(entry, folder, waiting, gone=now is None)
        try:
            return self._exchange_back(entry, folder, name, waiting)
        except FileNotFoundError:
            return self._keep(entry, folder, waiting, gone=True)

    def _exchange_back(self, entry: JournalEntry, folder: int, name: bytes, waiting: bytes) -> str:
        """Until what comes out is what was there: anything else is newer, the user's, and belongs
        there."""
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

    def _keep(self, entry: JournalEntry, folder: int, waiting: bytes, *, gone: bool = False) -> str:
        """The user's newest text has the name; an older one of theirs is never thrown away."""
        if digest_unless_open(folder, waiting) in (entry.ours, entry.result):
            unlink_if_exists(folder, waiting)
            if gone:
                return "it was deleted or renamed while it was changed, and left so"
            return "it was edited while it was taken back; that text was kept"
        return f"it was edited twice; the earlier text is beside it in {os.fsdecode(waiting)}"


def _why_not(error: OSError | HostError, path: str) -> str:
    """What the user did to a file, by the error it made. Raises OSError for what a disk did."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno in _DISK:
        raise cause
    if isinstance(error, HostError):
        return error.message.removeprefix(f"{path}: ")
    if isinstance(error, FileNotFoundError):
        return "it was deleted meanwhile"
    if isinstance(error, FileExistsError):
        return "it was created meanwhile"
    return f"it cannot be written: {error.strerror}"
