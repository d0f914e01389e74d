"""Exclude patterns and size limit for reading project files."""

from collections.abc import Sequence
from typing import NamedTuple

FILE_LIMIT = 1024 * 1024
"""Default size limit in bytes for reading a file; `hub.max_file_mb` changes it."""


class FileRules(NamedTuple):
    """Exclude patterns from remora.yaml, and the size in bytes above which files are skipped."""

    exclude: Sequence[str] = ()
    limit: int = FILE_LIMIT


def too_large(limit: int) -> str:
    """Return the reason why a file of more than `limit` bytes is not read."""
    return f"skipped: larger than {limit / 1024**2:g} MiB (hub.max_file_mb)"
