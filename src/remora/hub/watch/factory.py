"""Selection of the best available watcher for a root: inotify, or else a sweeping watcher."""

import errno
from pathlib import Path

from remora.hub.members.members import Members
from remora.hub.watch.inotify import ChangesHidden, InotifyWatcher
from remora.hub.watch.inotify_syscalls import has_inotify
from remora.hub.watch.watch_table import WatchesExhausted
from remora.hub.watch.watcher_protocol import UNKNOWN_CHANGES, Changes, Kind, Watcher


def open_watcher(root: Path, members: Members, *, marker: Path, kind: str = "auto") -> Watcher:
    """Return a watcher for the members below `root`, which must be resolved.

    `marker` is a private folder outside the root. `kind` is either a specific kind or `auto`, which
    selects inotify if possible and otherwise sweeps. If inotify is not available, the watcher
    sweeps, and its `note` gives the reason.
    """
    if kind in ("sweep", "off"):
        return SweepingWatcher("off" if kind == "off" else "sweep")
    if not has_inotify():
        return SweepingWatcher(
            note="this system has no inotify, so each request first checks all files"
        )
    try:
        return InotifyWatcher(root, members, marker)
    except WatchesExhausted as error:
        note = f"the limit of inotify watches is reached: {error}"
    except ChangesHidden as error:
        note = str(error)
    except OSError as error:
        note = f"inotify could not be used: {error.strerror}"
        if error.errno == errno.EMFILE:
            note += "; see fs.inotify.max_user_instances"
    return SweepingWatcher(note=note)


class SweepingWatcher:
    """Watcher that always reports that any file may have changed.

    All files are therefore swept for each answer.
    """

    healthy = False

    def __init__(self, kind: Kind = "sweep", note: str = "") -> None:
        self.kind = kind
        self.note = note

    def drain(self) -> Changes:
        return UNKNOWN_CHANGES

    def settled(self, timeout: float) -> bool:  # noqa: ARG002
        return False

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        """Do nothing."""
