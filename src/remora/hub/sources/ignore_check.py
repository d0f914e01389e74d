"""Detection of changed `.gitignore` files in the parent folders of requested paths, without a
watcher.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from remora.hub.file_stamp import Stamp, is_racy, stamp_of


class IgnoreFiles:
    """Last known Stamps of the `.gitignore` files in the parent folders of requested paths."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stamps: dict[str, Stamp | None] = {}
        self._since = time.time_ns()

    def moved(self, paths: Iterable[str]) -> bool:
        """Return True if a relevant `.gitignore` has changed since the last call.

        Only the parent folders of `paths` are checked. A `.gitignore` that was created or deleted
        counts as changed.
        """
        started = time.time_ns()
        moved = False
        for folder in {place for path in paths for place in _ancestors(path)}:
            now = _stamp(self._root / folder / ".gitignore")
            if folder in self._stamps:
                moved |= self._stamps[folder] != now
            else:
                stamps = (now, _stamp(self._root / folder))
                moved |= any(stamp is not None and is_racy(stamp, self._since) for stamp in stamps)
            self._stamps[folder] = now
        if moved:
            self._since = started
        return moved


def _ancestors(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) for end in range(len(parts) + 1)]


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(os.lstat(path))
    except OSError:
        return None
