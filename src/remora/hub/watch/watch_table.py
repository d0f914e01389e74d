"""Watch table, which maps inotify watches to folders, even if the folders move."""

import errno

from remora.hub.watch.inotify_syscalls import Inotify

_EXHAUSTED = frozenset({errno.ENOSPC, errno.ENOMEM, errno.EMFILE})


class ChangesHidden(Exception):
    """The kernel cannot report some of the changes below the root. The message gives the reason."""


class WatchedFolders:
    """One-to-one map between watches and watched paths.

    Paths are relative to the root. The path of the root itself is `""`.
    """

    def __init__(self, kernel: Inotify, top: str) -> None:
        self._kernel = kernel
        self._top = top
        self._paths: dict[int, str] = {}
        self._watches: dict[str, int] = {}

    def path(self, watch: int) -> str | None:
        return self._paths.get(watch)

    def paths(self) -> set[str]:
        return set(self._watches)

    def watches(self) -> dict[str, int]:
        """Return the watch of each folder."""
        return dict(self._watches)

    def add(self, path: str) -> bool:
        """Watch a folder. Return False if it cannot be read.

        Raises ChangesHidden if the system allows no more watches.
        """
        try:
            watch = self._kernel.watch(f"{self._top}/{path}")
        except OSError as error:
            if error.errno in _EXHAUSTED:
                limit = "the limit of inotify watches is reached: see fs.inotify.max_user_watches"
                raise ChangesHidden(limit) from error
            self.leave(path)
            return False
        there = self._paths.get(watch)
        if there is not None and there != path:  # the folder moved here; its event is still queued
            del self._watches[there]
        before = self._watches.get(path)
        if before is not None and before != watch:  # another folder had this path before
            self._drop(before)
        self._paths[watch] = path
        self._watches[path] = watch
        return True

    def leave(self, path: str) -> None:
        if (watch := self._watches.pop(path, None)) is not None:
            self._drop(watch)

    def leave_within(self, path: str) -> None:
        """Remove the watches of a folder and of all folders in it."""
        start = path + "/"
        for folder in [folder for folder in self._watches if folder.startswith(start)]:
            self.leave(folder)
        self.leave(path)

    def ended(self, watch: int) -> str | None:
        """Remove a watch that was ended by the kernel.

        Returns the path of its folder, or None if the watch is unknown.
        """
        if (path := self._paths.pop(watch, None)) is not None:
            del self._watches[path]
        return path

    def _drop(self, watch: int) -> None:
        self._paths.pop(watch, None)
        self._kernel.unwatch(watch)
