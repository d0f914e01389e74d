"""The daemon's log.

It is written to standard error in the foreground, and otherwise to a small rotating file.
"""

import io
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

MAX_BYTES = 1 << 20
"""Maximum bytes of the log file; one older file is kept."""
_FORMAT = "%(asctime)s %(levelname)-7s %(message)s"


class _PrivateFile(RotatingFileHandler):
    """Private log file that is never opened through a symbolic link.

    If the disk is full, log lines are lost, but nothing fails.
    """

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self.baseFilename, flags, 0o600)
        return io.TextIOWrapper(io.FileIO(file, "ab"), encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (inherited name)
        """Ignore the error, because there is no place to report it."""


def log_to(path: Path | None) -> None:
    """Log to `path`, or to standard error if `path` is None."""
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        try:
            handler = _PrivateFile(path, maxBytes=MAX_BYTES, backupCount=1)
        except OSError:
            handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.setLevel(logging.INFO)
    logging.getLogger("remora.hub").setLevel(logging.INFO)
    logging.getLogger().addHandler(handler)
