"""Watchers: inotify if possible, and otherwise one that sweeps for each answer."""

import errno
from pathlib import Path
from typing import Protocol

from remora.facilities import has_inotify
from remora.hub.members.members import Members
from remora.hub.watch.inotify import UNKNOWN_CHANGES, Changes, InotifyWatcher
from remora.hub.watch.watch_table import ChangesHidden


class Watcher(Protocol):
    """Reports changes below a root. Instances may be used by one thread only."""

    @property
    def note(self) -> str:
        """Reason why only a sweep finds changes from now on, or an empty string if there is none."""

    def drain(self) -> Changes:
        """Return all changes that were completed before the call, without waiting."""

    def fileno(self) -> int | None:
        """Return a file descriptor that is readable when there are changes to drain.

        It does not change until `close`.
        """

    def close(self) -> None:
        """Stop watching. This method may be called more than once."""


def open_watcher(root: Path, members: Members) -> Watcher:
    """Return a watcher for the members below `root`, which must be resolved.

    If inotify is not available, the watcher sweeps, and its `note` gives the reason.
    """
    if not has_inotify():
        return SweepingWatcher("this system has no inotify, so each request first checks all files")
    try:
        return InotifyWatcher(root, members)
    except ChangesHidden as error:
        note = str(error)
    except OSError as error:
        note = f"inotify could not be used: {error.strerror}"
        if error.errno == errno.EMFILE:
            note += "; see fs.inotify.max_user_instances"
    return SweepingWatcher(note)


class SweepingWatcher:
    """Watcher that always reports that any file may have changed.

    All files are therefore swept for each answer.
    """

    def __init__(self, note: str) -> None:
        self.note = note

    def drain(self) -> Changes:
        return UNKNOWN_CHANGES

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        """Do nothing."""
