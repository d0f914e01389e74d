"""Mount table, used to check whether inotify sees every change below a root."""

import os
import re
import select
from collections.abc import Iterable
from typing import NamedTuple

from remora.facilities import proc_path

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
        containing = [mount for mount in mounts if _is_below(root, mount.place)]
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


def _is_below(path: str, place: str) -> bool:
    return path == place or place == "/" or path.startswith(f"{place}/")
