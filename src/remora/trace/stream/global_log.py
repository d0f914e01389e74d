"""Optional global log that collects the events of all projects in one file."""

import os
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError
from remora.memory.events import Event


class GlobalEventLog:
    """Event listener that appends each event to `events.jsonl`. Remora never reads this file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, event: Event) -> None:
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
                f"{self._path}: {error.strerror}",
                hint="check the file, or set runner.memory.global_events: false",
            ) from error
