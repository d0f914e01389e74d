"""Where a stream's bytes are read from: any place of them, in any order."""

import os
from typing import Protocol


class Source(Protocol):
    """A stream's bytes, which may grow while they are read."""

    def size(self) -> int:
        """How many bytes there are now."""

    def pread(self, count: int, offset: int) -> bytes:
        """At most `count` bytes from `offset`; fewer before the end only where the disk gives
        fewer, none at or behind the end. Raises OSError."""


class FileSource:
    """An open file's bytes as they are. Who opened the descriptor closes it."""

    def __init__(self, file: int) -> None:
        self.file = file

    def size(self) -> int:
        """As the file is now."""
        return os.fstat(self.file).st_size

    def pread(self, count: int, offset: int) -> bytes:
        """Straight from the file."""
        return os.pread(self.file, count, offset)
