"""Removal of streams and all their files. A stream is locked against writers first."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from remora.errors import StreamLocked
from remora.regular_file import closing_fd
from remora.trace import stream_lock
from remora.trace.content.private_files import disk_errors, open_folder, open_read_only, sync_folder
from remora.trace.stream.compression import TEMPORARY_SUFFIX
from remora.trace.stream.recovery import quarantine_names
from remora.trace.trace_folder import TraceFolder, compressed_path, plain_path


@contextmanager
def compaction_lock(folder: TraceFolder) -> Iterator[None]:
    """Lock the folder so that no other compaction can run.

    Raises StreamLocked if another compaction is running, and DiskError if the folder cannot be
    opened.
    """
    with disk_errors(folder.path):
        file = open_folder(folder.path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StreamLocked(
            f"another process removes or compresses streams ({stream_lock.lock_owner(file)})",
            hint="wait until it finishes",
        ) from error
    else:
        yield
    finally:
        os.close(file)


@contextmanager
def locked_stream(path: Path) -> Iterator[int]:
    """Lock a stream against writers, and yield its size in bytes.

    Raises StreamLocked if a writer has locked it, and DiskError if it cannot be opened.
    """
    with disk_errors(path):
        file = open_read_only(path)
    with closing_fd(file):
        stream_lock.lock_stream(file, path)
        yield os.fstat(file).st_size


def remove_stream(path: Path) -> None:
    """Remove a stream and all its files, such as torn tails in quarantine.

    The compressed file is removed first. If it were left over after an interruption, it would be
    taken for the stream.
    """
    torn = map(path.with_name, quarantine_names(plain_path(path).name))
    with disk_errors(path):
        for place in (compressed_path(path), plain_path(path), *takewhile(os.path.lexists, torn)):
            place.unlink(missing_ok=True)
        sync_folder(path.parent)


def remove_unfinished_files(folder: TraceFolder, made_before: float) -> None:
    """Remove unfinished files that killed processes left behind.

    Only files last modified before `made_before` (a Unix timestamp) are removed.
    """
    for path in _unfinished_files(folder):
        with disk_errors(path), suppress(FileNotFoundError):
            if path.lstat().st_mtime < made_before:
                path.unlink()


def _unfinished_files(folder: TraceFolder) -> Iterator[Path]:
    for place in (folder.traces, folder.runs):
        yield from (path for path in _hidden_files(place) if path.name.endswith(TEMPORARY_SUFFIX))
    for store in (folder.blobs.folder, folder.objects.folder):
        with suppress(FileNotFoundError):
            for prefix in sorted(store.iterdir()):
                if prefix.is_dir() and not prefix.is_symlink():
                    yield from _hidden_files(prefix)


def _hidden_files(place: Path) -> list[Path]:
    with disk_errors(place), suppress(FileNotFoundError):
        return sorted(path for path in place.iterdir() if path.name.startswith("."))
    return []
