"""Watcher for Linux, with an inotify watch for each folder that is not ignored."""

import os
import re
import select
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from remora.errors import OutsideError, undo_on_error
from remora.facilities import proc_path
from remora.hub.file_stamp import Stamp, is_racy, stamp_of
from remora.hub.members.folder_listing import MARKS, SOURCES
from remora.hub.members.members import Members
from remora.hub.watch import inotify_syscalls
from remora.hub.watch.inotify_syscalls import Event, Inotify
from remora.hub.watch.watch_table import ChangesHidden, WatchedFolders

_ESCAPE = re.compile(r"\\([0-7]{3})")
_LOCAL = frozenset(
    {
        *("bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "overlay"),
        *("ramfs", "reiserfs", "squashfs", "tmpfs", "xfs", "zfs"),
    }
)
"""File systems that only this kernel writes to. Others may be shared."""


class Mount(NamedTuple):
    """A mounted file system."""

    place: str
    kind: str


class MountTable:
    """Reader of the mount table, which also detects changes to the table.

    Raises OSError if the system provides no mount table.
    """

    def __init__(self) -> None:
        self._file = proc_path("self/mountinfo").open("rb", buffering=0)
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLPRI | select.POLLERR)

    def changed(self) -> bool:
        """Return True if a mount was added or removed since the last call of `objection`."""
        return bool(self._poll.poll(0))

    def objection(self, root: str, folders: Iterable[str]) -> str:
        """Return the reason why inotify cannot see all changes in `folders` below `root`.

        Returns an empty string if inotify can see all of them.
        """
        self._poll.poll(0)
        self._file.seek(0)
        mounts = [_mount(line) for line in os.fsdecode(self._file.read()).splitlines()]
        containing = [
            mount for mount in mounts if f"{root}/".startswith(f"{mount.place.rstrip('/')}/")
        ]
        kind = (
            max(reversed(containing), key=lambda mount: len(mount.place)).kind if containing else ""
        )
        if containing and kind not in _LOCAL:
            return f"{root} is on {kind}, a file system that may not report all changes"
        places = {f"{root}/{folder}" for folder in folders if folder}
        inner = next((mount for mount in mounts if mount.place in places), None)
        return "" if inner is None else f"another file system is mounted at {inner.place}"

    def close(self) -> None:
        self._file.close()


def _mount(line: str) -> Mount:
    head, _, tail = line.partition(" - ")
    place = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), head.split(" ")[4])
    return Mount(place, tail.split(" ")[0])


_APPEARED = inotify_syscalls.CREATE | inotify_syscalls.MOVED_TO | inotify_syscalls.ATTRIB
_SELF = inotify_syscalls.DELETE_SELF | inotify_syscalls.MOVE_SELF | inotify_syscalls.UNMOUNT


class Changes(NamedTuple):
    """Paths reported as changed, created or removed since the last call of `drain`."""

    paths: frozenset[str]
    """Raw paths that end in `.py`. A path may not exist or may not belong to the project."""
    complete: bool
    """False if there may be other changes, which only a sweep can find."""


UNKNOWN_CHANGES = Changes(frozenset(), complete=False)


class InotifyWatcher:
    """Watches folders, including folders that are created or moved later.

    Creating a watcher raises OSError if inotify fails, and ChangesHidden if there are not enough
    watches, or if some changes cannot be seen.
    """

    def __init__(self, root: Path, members: Members) -> None:
        self._root = str(root)
        self._members = members
        self.note = ""
        """Why it no longer watches; empty while it does."""
        self._paths: set[str] = set()
        self._complete = True
        self._new: set[str] = set()
        self._stamps: dict[str, Stamp | None] = {}
        self._version = -1
        self._mounts: MountTable | None = None
        self._kernel = Inotify()
        with undo_on_error(self.close):
            self._mounts = _table_of_mounts()
            self._identity = self._look_at_root()
            self._folders = WatchedFolders(self._kernel, self._root)
            self._watch_all()

    def fileno(self) -> int | None:
        return self._kernel.fileno()

    def close(self) -> None:
        self.note = self.note or "closed"
        self._kernel.close()
        if self._mounts is not None:
            self._mounts.close()
            self._mounts = None

    def drain(self) -> Changes:
        self._read_events()
        try:
            self._update_watches()
        except ChangesHidden as error:
            self._give_up(str(error))
        except OutsideError:  # ignore files keep changing
            self._mark_incomplete()
        if self.note:
            return UNKNOWN_CHANGES
        changes = Changes(frozenset(self._paths | self._changed_unwatchable()), self._complete)
        self._paths.clear()
        self._complete = True
        return changes

    def _look_at_root(self) -> tuple[int, int]:
        about = os.stat(self._root)  # noqa: PTH116 (called before each answer)
        return about.st_dev, about.st_ino

    def _read_events(self) -> None:
        if self.note:
            self._kernel.read()  # otherwise the descriptor stays readable
            return
        try:
            is_same = self._look_at_root() == self._identity
        except OSError:
            is_same = False
        if not is_same:
            self._give_up(f"{self._root} was removed or replaced")
            return
        for event in self._kernel.read():
            self._handle_event(event)

    def _handle_event(self, event: Event) -> None:
        watch, mask, name = event
        if mask & inotify_syscalls.OVERFLOW:
            self._mark_incomplete()
        if (folder := self._folders.path(watch)) is None:
            return
        if name:
            self._handle_entry(f"{folder}/" if folder else "", os.fsdecode(name), mask)
        else:
            self._handle_folder_itself(watch, mask, folder)

    def _handle_entry(self, prefix: str, name: str, mask: int) -> None:
        if mask & inotify_syscalls.ISDIR:
            self._handle_folder(prefix + name, mask)
        elif name.endswith(SOURCES):
            self._paths.add(prefix + name)
        if name in MARKS:
            self._members.forget()

    def _handle_folder_itself(self, watch: int, mask: int, folder: str) -> None:
        """Handle an event for a watched folder itself.

        Unless the folder is the root, its parent folder also reports the change.
        """
        if mask & inotify_syscalls.IGNORED:
            self._folders.ended(watch)
        if mask & inotify_syscalls.UNMOUNT or (folder == "" and mask & inotify_syscalls.ATTRIB):
            self._mark_incomplete()
        if folder == "" and mask & (_SELF | inotify_syscalls.IGNORED):
            self._give_up(f"{self._root} was removed or replaced")

    def _handle_folder(self, path: str, mask: int) -> None:
        if mask & inotify_syscalls.DELETE:
            # the kernel ends the watch; the path may have the watch of a newer folder already
            self._new.discard(path)
        elif mask & inotify_syscalls.MOVED_FROM:  # everything in it has left this path
            self._folders.leave_within(path)
            self._new.add(path)  # when two folders are exchanged, the arrival is reported first
            self._complete = False
        elif mask & _APPEARED:
            self._new.add(path)
            if mask & inotify_syscalls.ATTRIB:  # it may have become readable or unreadable
                self._complete = False

    def _mark_incomplete(self) -> None:
        self._complete = False
        self._version = -1

    def _update_watches(self) -> None:
        """Process new folders and changed rules. Call this after `_read_events`.

        Raises ChangesHidden if the system allows no more watches.
        """
        if self.note:
            return
        if any(self._members.has_other_names(path) for path in self._paths):
            self._complete = False  # a sweep finds the changed files at other hard links
        if self._mounts is not None and self._mounts.changed():
            self._mark_incomplete()
        self._members.has_moved()
        while self._new or self._version != self._members.version:
            if self._version != self._members.version:
                self._watch_all()
            else:
                self._enter_new()

    def _watch_all(self) -> None:
        """Watch the folders that currently need a watch, and no others."""
        self._complete = False
        self._new.clear()
        version = self._members.version
        survey = self._members.survey(before=self._folders.add)
        for path in self._folders.paths() - survey.folders:
            self._folders.leave(path)
        objection = self._mounts.objection(self._root, survey.folders) if self._mounts else ""
        if objection:
            raise ChangesHidden(objection)
        self._version = version

    def _changed_unwatchable(self) -> set[str]:
        """Return changed files that may not cause an event in their folder."""
        before, self._stamps = self._stamps, {}
        moved: set[str] = set()
        now = time.time_ns()
        for path in self._members.unwatchable():
            try:
                stamp = stamp_of(os.lstat(f"{self._root}/{path}"))
            except OSError:
                stamp = None
            self._stamps[path] = stamp
            if path not in before or before[path] != stamp or (stamp and is_racy(stamp, now)):
                moved.add(path)
        return moved

    def _enter_new(self) -> None:
        """Watch new folders that belong to the project, and add their files as changed."""
        starts, self._new = self._new, set()
        known = self._folders.watches()
        walked = self._members.walked
        watched: set[str] = set()

        def watch(path: str) -> None:
            self._folders.add(path)
            watched.add(path)

        survey = self._members.survey(starts, watch)
        for path in watched - survey.folders:
            self._folders.leave(path)
        self._paths |= survey.files.keys()
        now = self._folders.watches()
        ended = any(now.get(path) != known[path] for path in watched & known.keys())
        # files of a folder that was walked before it was watched may be gone without an event
        unseen = walked & watched - known.keys()
        if survey.unwatchable or ended or unseen:  # the queued events of a watch are lost with it
            self._complete = False

    def _give_up(self, note: str) -> None:
        """Stop watching and rely on sweeps. The file descriptor stays open until `close`."""
        self.note = note
        for path in self._folders.paths():
            self._folders.leave(path)
        self._paths.clear()
        self._new.clear()


def _table_of_mounts() -> MountTable | None:
    try:
        return MountTable()
    except OSError:  # no /proc
        return None
