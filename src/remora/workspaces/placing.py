"""One file of a journal into its place, or back: every state between is told from the disk."""

import errno
import hashlib
import os
import stat as st
from contextlib import suppress

from remora.errors import HostError
from remora.ids import unspell_path
from remora.workspaces.beneath import Beneath, write_new
from remora.workspaces.exchange import (
    ODD,
    digest_at,
    exchange,
    heal,
    place,
    same_file,
    sync_folder,
    take_away,
)
from remora.workspaces.journal import Entry, Journal, JournalFolder


class Placing:
    """The steps for the files of one journal beneath one root.

    The waiting name tells how far a file has come: it appears with the whole new text, and holds
    the old text once the names were exchanged. It goes only when all files are in place.
    """

    def __init__(self, tree: Beneath, journal: Journal, store: JournalFolder) -> None:
        self._tree = tree
        self._journal = journal
        self._store = store

    def forward(self, entry: Entry) -> str:
        """Put a file in place. Empty if it is, else why it cannot be: the tree moved on."""
        path = unspell_path(entry.path)
        waiting = self._journal.waiting_name(entry)
        try:
            with self._tree.parent(path, make=entry.ours is None) as (folder, name):
                heal(folder, name, waiting)
                if entry.ours is None:
                    self._create(entry, folder, name, waiting)
                elif entry.result is None:
                    self._delete(folder, name, waiting)
                else:
                    self._replace(entry, folder, name, waiting)
                sync_folder(folder)
        except FileNotFoundError:
            return "it was deleted meanwhile"
        except FileExistsError:
            return "it was created meanwhile"
        except OSError as error:
            return f"it cannot be written: {error.strerror}"
        except HostError as error:
            return error.message.removeprefix(f"{path}: ")
        return self.check(entry)

    def check(self, entry: Entry) -> str:
        """Whether what was taken out is what was checked; empty if so."""
        if entry.ours is None:
            return ""
        waiting = self._journal.waiting_name(entry)
        try:
            with self._tree.parent(unspell_path(entry.path)) as (folder, name):
                out = digest_at(folder, waiting)
                if out is None and digest_at(folder, name) == entry.result:
                    return ""  # in place; someone tidied the waiting name before we could
        except (HostError, OSError):
            return "its folder was moved meanwhile"
        if out == entry.ours:
            return ""
        return f"it became a {out} meanwhile" if out == ODD else "it was edited meanwhile"

    def back(self, entry: Entry) -> str:
        """Take a file back. Empty if it stands as before, else what else was found and kept."""
        path = unspell_path(entry.path)
        waiting = self._journal.waiting_name(entry)
        try:
            with self._tree.parent(path) as (folder, name):
                heal(folder, name, waiting)
                if entry.ours is None:
                    told = self._uncreate(entry, folder, name, waiting)
                elif entry.result is None:
                    told = self._undelete(entry, folder, name, waiting)
                else:
                    told = self._unreplace(entry, folder, name, waiting)
                sync_folder(folder)
        except HostError:
            return ""  # its folder is gone, and with it all that could be taken back
        return told

    def tidy(self, entry: Entry) -> None:
        """Remove the waiting name once every file is in place."""
        waiting = self._journal.waiting_name(entry)
        with suppress(HostError), self._tree.parent(unspell_path(entry.path)) as (folder, _):
            take_away(folder, waiting)
            take_away(folder, waiting + b"-part")

    def remove_folders(self) -> None:
        """Remove folders that were made on the way and hold nothing."""
        for spelled in sorted(self._journal.folders, key=len, reverse=True):
            path = unspell_path(spelled)
            with suppress(HostError, OSError), self._tree.parent(path) as (folder, name):
                os.rmdir(name, dir_fd=folder)

    def _create(self, entry: Entry, folder: int, name: bytes, waiting: bytes) -> None:
        if digest_at(folder, waiting) is None:
            there = digest_at(folder, name)
            if there == entry.result:
                return
            if there is not None:
                raise FileExistsError
            self._write(entry, folder, name, waiting, new=True)
        place(folder, waiting, name)

    def _delete(self, folder: int, name: bytes, waiting: bytes) -> None:
        if digest_at(folder, waiting) is None or same_file(folder, name, waiting):
            place(folder, name, waiting)

    def _replace(self, entry: Entry, folder: int, name: bytes, waiting: bytes) -> None:
        if digest_at(folder, waiting) is None:
            if digest_at(folder, name) == entry.result:
                return
            self._write(entry, folder, name, waiting, new=True)
        if digest_at(folder, waiting) == entry.result:
            exchange(folder, name, waiting)

    def _write(self, entry: Entry, folder: int, name: bytes, waiting: bytes, *, new: bool) -> None:
        """The new (or old) text under the waiting name, whole or not at all."""
        if digest_at(folder, waiting) is not None:
            return
        content = self._store.content(f"{entry.number}.{'new' if new else 'old'}")
        if hashlib.sha256(content).hexdigest() != (entry.result if new else entry.ours):
            raise OSError(errno.EIO, "the journal's copy of it is damaged")
        part = waiting + b"-part"
        take_away(folder, part)
        write_new(folder, part, content, entry.mode)
        with suppress(OSError):  # another owner's file stays theirs where we may say so
            self._give_owner(entry, folder, name, part)
        handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        place(folder, part, waiting)

    def _give_owner(self, entry: Entry, folder: int, name: bytes, part: bytes) -> None:
        if entry.ours is None:
            return
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
        new = os.stat(part, dir_fd=folder, follow_symlinks=False)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid) and st.S_ISREG(old.st_mode):
            os.chown(part, old.st_uid, old.st_gid, dir_fd=folder, follow_symlinks=False)
            os.chmod(part, entry.mode, dir_fd=folder)

    def _uncreate(self, entry: Entry, folder: int, name: bytes, waiting: bytes) -> str:
        if digest_at(folder, waiting) is not None:
            if same_file(folder, name, waiting):
                take_away(folder, name)
            take_away(folder, waiting)  # it was never quite placed
        elif digest_at(folder, name) == entry.result:
            place(folder, name, waiting)
            if digest_at(folder, waiting) != entry.result:
                place(folder, waiting, name)
                return "it was edited after it had been created, and kept"
            take_away(folder, waiting)
        take_away(folder, waiting + b"-part")
        return ""

    def _undelete(self, entry: Entry, folder: int, name: bytes, waiting: bytes) -> str:
        if digest_at(folder, waiting) is None:
            return ""
        try:
            place(folder, waiting, name)
        except FileExistsError:
            return self._keep(entry, folder, waiting)
        return ""

    def _unreplace(self, entry: Entry, folder: int, name: bytes, waiting: bytes) -> str:
        take_away(folder, waiting + b"-part")
        out, now = digest_at(folder, waiting), digest_at(folder, name)
        if out is None and now == entry.result:  # someone tidied: the journal has the old text
            self._write(entry, folder, name, waiting, new=False)
            out = digest_at(folder, waiting)
        if out is None:
            return ""
        if out == entry.result:
            take_away(folder, waiting)  # not exchanged
            return ""
        if now is None:
            place(folder, waiting, name)
            return ""
        if now != entry.result:  # the user wrote again: their newest text stays
            return self._keep(entry, folder, waiting)
        exchange(folder, name, waiting)
        if digest_at(folder, waiting) != entry.result:
            exchange(folder, name, waiting)
            return self._keep(entry, folder, waiting)
        take_away(folder, waiting)
        return ""

    def _keep(self, entry: Entry, folder: int, waiting: bytes) -> str:
        """The user's newest text has the name; an older one of theirs is never thrown away."""
        if digest_at(folder, waiting) == entry.ours:
            take_away(folder, waiting)
            return "it was edited while it was taken back; that text was kept"
        return f"it was edited twice; the earlier text is beside it in {os.fsdecode(waiting)}"
