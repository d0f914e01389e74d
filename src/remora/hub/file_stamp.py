"""Stamp: file metadata that shows whether a file changed, without reading the file."""

import os
from typing import NamedTuple

_RACY_NS = 2_000_000_000
"""Nanoseconds: longer than the clock tick of any known file system (FAT: 2 s)."""


class Stamp(NamedTuple):
    """File metadata. Equal Stamps imply equal content, unless a Stamp is racy (see `is_racy`)."""

    size: int
    mtime_ns: int
    ctime_ns: int
    """Programs cannot set the ctime, so it shows a change even if size and mtime are restored."""
    inode: int


def stamp_of(about: os.stat_result) -> Stamp:
    """Return the Stamp for a result of `os.lstat` or `os.fstat`."""
    return Stamp(about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


def is_racy(stamp: Stamp, now_ns: int) -> bool:
    """Return True if a later change of the file might not change the Stamp.

    This is the case if the Stamp is from the last 2 seconds or from the future.
    """
    return max(stamp.mtime_ns, stamp.ctime_ns) > now_ns - _RACY_NS
