"""Files as they are now, read and analysed without any database."""

from collections.abc import Iterable
from pathlib import Path

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts
from remora.errors import DiskError
from remora.hub.file_read import reading


def read_cold(root: Path, paths: Iterable[str]) -> dict[str, FileFacts]:
    """The facts of files (raw paths), by spelled path; without those that cannot be read: an index
    leaves them out, too. Raises DiskError where there is no root."""
    files: dict[str, FileFacts] = {}
    try:
        with reading(root) as reader:
            for path in sorted(paths):
                try:
                    facts = read_facts(path, reader.read(path).data)
                except OSError:
                    continue
                files[facts.path] = facts
    except OSError as error:
        raise DiskError(f"{root}: {error.strerror or error}") from error
    return files
