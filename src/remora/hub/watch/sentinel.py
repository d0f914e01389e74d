"""Sentinel file, used to make sure that all earlier changes have been reported.

Once a change to this file is reported, all earlier changes have been reported.
"""

import os
from pathlib import Path

from remora.hub.watch.inotify_syscalls import Inotify

_NAME = "marker"


class Sentinel:
    """A watched private folder that contains a file to touch."""

    def __init__(self, folder: Path, kernel: Inotify) -> None:
        self._folder = folder
        self._file = str(folder / _NAME)
        self._kernel = kernel
        self.watch = -1
        """Number of the folder's inotify watch."""
        self._prepare()

    def touch(self) -> bool:
        """Touch the file to queue an event after all earlier events. Returns False on failure."""
        try:
            os.utime(self._file)
        except OSError:
            return self._prepare()
        return True

    def lost(self) -> None:
        """Record that the folder was removed and is no longer watched."""
        self.watch = -1

    def _prepare(self) -> bool:
        """Create the folder and the file if they are missing, watch the folder, and touch the file.

        Returns False on failure.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.watch = self._kernel.watch(str(self._folder))
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._file, flags, 0o600))
            os.utime(self._file)
        except OSError:
            return False
        return True
