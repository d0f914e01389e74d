"""Stamp: file metadata that reveals a change without reading the file."""

import os
from typing import NamedTuple

_RACY_NS = 2_000_000_000
"""Nanoseconds: longer than the clock tick of any known file system (FAT: 2 s)."""


class Stamp(NamedTuple):
    """File metadata. Equal Stamps mean equal content, unless the Stamp is racy (see `is_racy`)."""

    size: int
    mtime_ns: int
    ctime_ns: int
    """Programs cannot set it, so it reveals a rewrite that restored size and mtime."""
    inode: int


def stamp_of(about: os.stat_result) -> Stamp:
    """Return the Stamp for a result of `os.lstat` or `os.fstat`."""
    return Stamp(about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


def is_racy(stamp: Stamp, now_ns: int) -> bool:
    """True if a later change may keep the Stamp: it is from the last 2 s, or from the future."""
    return max(stamp.mtime_ns, stamp.ctime_ns) > now_ns - _RACY_NS
