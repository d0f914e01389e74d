"""Entries of large runs in `remora runs`, stored so that their streams are not read each time.

The file can be deleted at any time.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.regular_file import closing_fd, replace_file
from remora.trace.content.private_files import open_folder, open_read_only

_FILE = "run_lines.json"
_LARGE = 1 << 20
"""Bytes of a run's stream. Reading a smaller one takes less than 20 ms."""
_FORMAT = 6
"""Number of the file's format. Increase it whenever an entry has other keys or counts otherwise."""


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `runs --json`, with the numbers of change sets in each state of review."""

    run_id: str
    started: str
    """The time of the first event, or empty if it cannot be read."""
    status: str
    """The status of the run; a damaged run is not counted further."""
    jobs: int
    """The number of planned jobs."""
    operations: tuple[str, ...] = ()
    """The planned operations."""
    model: str = ""
    """The name of the model, or `none`."""
    failed: int = 0
    """The number of jobs that failed or ended with an error."""
    pending: int = 0
    accepted: int = 0
    rejected: int = 0
    reverted: int = 0
    conflicts: int = 0

    @property
    def is_open(self) -> bool:
        """True if change sets can be accepted or rejected."""
        return bool(self.pending or self.conflicts)


class StoredLine(msgspec.Struct, frozen=True):
    """The entry of a run, and the state of its stream before it was read."""

    line: RunLine
    ended: bool
    """True if the stream has a `run_end`."""
    bytes: int
    """The size of the stream."""
    modified_ns: int
    """The time of its last change."""

    def is_current(self, status: os.stat_result) -> bool:
        return (self.bytes, self.modified_ns) == (status.st_size, status.st_mtime_ns)


class _StoredLines(msgspec.Struct, frozen=True):
    """The content of the file, with the entries by the name of the stream's file."""

    format: int
    lines: dict[str, StoredLine]


def read_stored_lines(folder: Path) -> dict[str, StoredLine]:
    """Return the stored entries, by file name. There are none if the file cannot be read."""
    try:
        with os.fdopen(open_read_only(folder / _FILE), "rb") as file:
            stored = msgspec.json.decode(file.read(), type=_StoredLines)
    except (OSError, ValueError, RecursionError):
        return {}
    return stored.lines if stored.format == _FORMAT else {}


def write_stored_lines(
    folder: Path, lines: Mapping[str, StoredLine], stored: Mapping[str, StoredLine]
) -> None:
    """Replace the stored entries by those of large runs, unless the disk refuses it."""
    large = {name: line for name, line in lines.items() if line.bytes >= _LARGE}
    if large == stored:
        return
    with suppress(OSError), closing_fd(open_folder(folder)):  # which is not a link
        replace_file(folder / _FILE, msgspec.json.encode(_StoredLines(_FORMAT, large)))
