"""Reading and analysis of the current files without a database."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from remora.code.file_facts import FileFacts
from remora.errors import DiskError
from remora.hub.file_limits import FILE_LIMIT
from remora.hub.file_reader import facts_of, open_reader

_NONE: Mapping[str, str] = {}


def read_all(
    root: Path,
    paths: Iterable[str],
    *,
    limit: int = FILE_LIMIT,
    hashes: Mapping[str, str] = _NONE,
) -> dict[str, FileFacts]:
    """Read and analyze files. Return their facts, keyed by path as spelled in node keys.

    Files of more than `limit` bytes have no nodes. Unreadable files, and those that still have the
    hash that `hashes` contains for their path, are left out. Raises DiskError if `root` cannot be
    read.
    """
    files: dict[str, FileFacts] = {}
    try:
        with open_reader(root, limit) as reader:
            for path in sorted(paths):
                try:
                    content = reader.read(path)
                except OSError:
                    continue
                if content.file_hash != hashes.get(path):
                    facts = facts_of(path, content)
                    files[facts.path] = facts
    except OSError as error:
        raise DiskError(f"{root}: {error.strerror or error}") from error
    return files
