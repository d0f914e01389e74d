"""The lock of git's index, which git holds while it changes files."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from remora.errors import OutsideError
from remora.files.git_listing import git_paths

_LONG_S = 30.0
"""Seconds after which a lock is reported. A git command that was killed leaves its lock behind."""


class GitLock:
    """Tells whether git changes files, such as during a checkout or a step of a rebase.

    `report` is called once for a lock that is held for a long time.
    """

    def __init__(
        self, root: Path, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._root = root
        self._report = report
        self._clock = clock
        self._since: float | None = None
        self._is_reported = False

    def is_held(self) -> bool:
        """Return True if the lock exists."""
        lock = self._path()
        if lock is None or not lock.exists():
            self._since, self._is_reported = None, False
            return False
        now = self._clock()
        if self._since is None:
            self._since = now
        if now - self._since >= _LONG_S and not self._is_reported:
            self._is_reported = True
            self._report(
                f"waiting, because git has locked its index for {_LONG_S:.0f} s; if no git command "
                f"is running, remove {lock}"
            )
        return True

    def _path(self) -> Path | None:
        with suppress(OutsideError):
            index = git_paths(self._root).index_file
            return index.with_name(f"{index.name}.lock")
        return None
