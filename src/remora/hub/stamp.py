"""Stamp: file metadata that shows a change without reading the file."""

import os
from typing import NamedTuple

_RACY_NS = 2_000_000_000
"""Coarser than the clock of any file system that we know (FAT: 2 s)."""


class Stamp(NamedTuple):
    """Two looks at a file that give the same Stamp saw the same bytes, unless it was `racy`."""

    size: int
    mtime_ns: int
    ctime_ns: int
    """Nobody can set it: it tells a rewrite whose size and mtime were put back."""
    inode: int


def stamp_of(about: os.stat_result) -> Stamp:
    """The Stamp of what `os.lstat` or `os.fstat` gave."""
    return Stamp(about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


def racy(stamp: Stamp, now_ns: int) -> bool:
    """True if a later change may have the same Stamp, taken at `now_ns`.

    So it is if the file changed within the 2 s before (the next write may fall on the same tick of
    the file system's clock) or in the future (the clock was set back, or will meet that tick again).
    """
    return max(stamp.mtime_ns, stamp.ctime_ns) > now_ns - _RACY_NS
