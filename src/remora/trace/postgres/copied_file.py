"""Files of copied streams: comparing two copies, and opening one to append to it."""

import filecmp
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path

from remora.errors import NotFound, StreamDamaged
from remora.memory.events import Event, decode_event
from remora.regular_file import closing_fd
from remora.trace.content.byte_source import FileSource
from remora.trace.content.line_format import newline_before
from remora.trace.content.private_files import open_file
from remora.trace.read.reader import last_event


def first_difference(path: Path, other: Path) -> int | None:
    """Return the number of the first line that differs, or None if one file begins the other.

    Lines of `path` that are no events are different from missing ones.
    """
    if not path.exists() or filecmp.cmp(path, other, shallow=False):
        return None
    with path.open("rb") as lines, other.open("rb") as others:
        pairs = zip_longest(lines, others, fillvalue=b"")
        for number, (line, new_line) in enumerate(pairs, 1):
            is_torn = not line.endswith(b"\n") and new_line.startswith(line)
            if line != new_line and not is_torn and (new_line or not _is_event(line)):
                return number
    return None


def _is_event(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return bool(decode_event(line))
    return False


@contextmanager
def opened_copy(path: Path, folder: int) -> Iterator[tuple[int, Event | None]]:
    """Open a copy in an opened folder for appending, without an unfinished last line.

    Yield the file and its last event, which is None if the file is empty or not a copy.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    with closing_fd(open_file(path.name, flags, folder=folder)) as file:
        source = FileSource(file)
        end = newline_before(source, source.size()) + 1
        last = last_copied(path)
        if last is not None:
            os.ftruncate(file, end)
        yield file, last


def last_copied(path: Path) -> Event | None:
    """Return the last event of a copy, or None if there is none or the copy is damaged."""
    with suppress(NotFound, StreamDamaged):
        return last_event(path)
    return None
