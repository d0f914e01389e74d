"""The opt-in global stream: every event of every project, in one file to follow."""

import os
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError
from remora.memory.events import Event


class GlobalEventLog:
    """A listener that appends each event to `events.jsonl` as one line, in one write.

    Streams of many processes meet in the file, so its lines carry their streams' hashes but form
    no chain of their own. Nothing reads it back: it is for `tail -f` and the like.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, event: Event) -> None:
        """Append one event. Raises DiskError."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            make_private(self._path.parent)
            file = os.open(self._path, flags, 0o600)
            try:
                os.write(file, msgspec.json.encode(event) + b"\n")
            finally:
                os.close(file)
        except OSError as error:
            raise DiskError(
                f"{self._path}: {error.strerror}", hint="or set runner.memory.global_events: false"
            ) from error
