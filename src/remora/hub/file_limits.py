"""Exclude patterns and size limit of the project files that are read."""

from collections.abc import Sequence
from typing import NamedTuple

FILE_LIMIT = 1024 * 1024
"""Default maximum size in bytes of a file that is read; `hub.max_file_mb` changes it."""


class FileRules(NamedTuple):
    """`exclude` as in remora.yaml; files of more than `limit` bytes are skipped."""

    exclude: Sequence[str] = ()
    limit: int = FILE_LIMIT


def too_large(limit: int) -> str:
    """Return the reason why a file of more than `limit` bytes is not read."""
    return f"skipped: larger than {limit / 1024**2:g} MiB (hub.max_file_mb)"
