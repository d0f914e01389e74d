"""Watch table: the folder of each inotify watch, while folders move."""

import errno

from remora.hub.watch.inotify_syscalls import Inotify

_EXHAUSTED = frozenset({errno.ENOSPC, errno.ENOMEM, errno.EMFILE})


class WatchesExhausted(Exception):
    """The system gives no more watches."""


class WatchedFolders:
    """Paths below the root (itself `""`) and their watches, one for one."""

    def __init__(self, kernel: Inotify, top: str) -> None:
        self._kernel = kernel
        self._top = top
        self._paths: dict[int, str] = {}
        self._watches: dict[str, int] = {}

    def path(self, watch: int) -> str | None:
        """The folder that a watch stands for; None if for none any more."""
        return self._paths.get(watch)

    def paths(self) -> set[str]:
        """All folders that are watched."""
        return set(self._watches)

    def add(self, path: str) -> bool:
        """Watch a folder, if it is one and may be read. Raises WatchesExhausted."""
        try:
            watch = self._kernel.watch(f"{self._top}/{path}")
        except OSError as error:
            if error.errno in _EXHAUSTED:
                raise WatchesExhausted("see fs.inotify.max_user_watches") from error
            self.leave(path)
            return False
        there = self._paths.get(watch)
        if there is not None and there != path:  # moved here; what tells of it is still to be read
            del self._watches[there]
        before = self._watches.get(path)
        if before is not None and before != watch:  # another folder stood here
            self._drop(before)
        self._paths[watch] = path
        self._watches[path] = watch
        return True

    def leave(self, path: str) -> None:
        """Watch one folder no more."""
        watch = self._watches.pop(path, None)
        if watch is not None:
            self._drop(watch)

    def leave_within(self, path: str) -> None:
        """Watch a folder and all below it no more."""
        start = path + "/"
        for folder in [folder for folder in self._watches if folder.startswith(start)]:
            self.leave(folder)
        self.leave(path)

    def ended(self, watch: int) -> str | None:
        """The kernel ended a watch: the folder it stood for, None if for none any more."""
        path = self._paths.pop(watch, None)
        if path is not None:
            del self._watches[path]
        return path

    def _drop(self, watch: int) -> None:
        self._paths.pop(watch, None)
        self._kernel.unwatch(watch)
