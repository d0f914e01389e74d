"""Output file of an export, which is replaced when it is complete."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from remora.errors import UsageError
from remora.regular_file import followed
from remora.trace.content.private_files import FILE_MODE, disk_errors


@contextmanager
def replace_when_done(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` on success and is removed on failure.

    Links are followed. Pipes and devices are written directly. Raises DiskError if the file cannot
    be written, and UsageError if `path` is a folder.
    """
    with disk_errors(path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            with path.open("wb") as file:
                yield file
            return
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="choose a file")
    with disk_errors(path):
        target = followed(path)
    temporary = target.with_name(f".{target.stem[:32]}-{secrets.token_hex(4)}{target.suffix}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with disk_errors(path):
            with open(os.open(temporary, flags, FILE_MODE), "wb") as file:  # noqa: PTH123 (descriptor)
                yield file
                os.fchmod(file.fileno(), FILE_MODE)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink()
