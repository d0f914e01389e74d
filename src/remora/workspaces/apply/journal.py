"""Journal of a change that is being written to the user's tree.

It is kept in the state folder.
"""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import Conflict, DiskError
from remora.ids import escape_path
from remora.regular_file import closing_fd

_NAME = "journal.json"
_DONE = "done"


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file in the journal. The contents are stored as `NUMBER.new` and `NUMBER.old`."""

    number: int
    path: str
    """Escaped as in a node key."""
    ours: str | None
    """SHA-256 before the write, or None if there is no file then."""
    result: str | None
    """SHA-256 after the write, or None if there is no file then."""
    mode: int


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """Planned writes."""

    v: int = 1
    id: str
    root: str
    """The folder that they are in."""
    entries: tuple[JournalEntry, ...]
    folders: tuple[str, ...] = ()
    """Folders that are missing."""
    note: dict[str, str] = {}
    """Data from the caller."""

    def waiting_name(self, entry: JournalEntry) -> bytes:
        """Return the name of the temporary file, which is in the same folder as the file.

        The temporary file has the new content before the swap, and the old content afterwards.
        """
        return f".remora-{self.id}-{entry.number}".encode()


class JournalFolder:
    """Folder that contains at most one journal. Only one process can lock it at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder.

        Raises Conflict if another process has locked it, and DiskError if the lock file cannot be
        opened.
        """
        try:
            make_private(self._folder)
            path = self._folder / "lock"
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DiskError(
                f"cannot write a journal in {self._folder}: {error.strerror}"
            ) from error
        with closing_fd(lock):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                hint = "wait for the other command to finish, then run this one again"
                raise Conflict("another command is changing this project", hint=hint) from error
            yield

    def write(self, journal: Journal, contents: Mapping[str, bytes]) -> None:
        """Write and sync the contents, then the journal. `contents` is keyed by file name.

        Raises OSError.
        """
        self.clear()
        place = self._place()
        place.mkdir(mode=0o700)
        for name, content in contents.items():
            write_durably(place / name, content)
        write_durably(place / "new", msgspec.json.encode(journal))
        sync_path(place)
        (place / "new").rename(place / _NAME)
        sync_path(place)
        sync_path(self._folder)

    def read(self) -> Journal | None:
        """Return the journal that is left over, or None if there is none. Raises DiskError if the
        journal cannot be read or is damaged.
        """
        try:
            text = (self._place() / _NAME).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DiskError(f"cannot read the journal in {self._folder}: {error}") from error
        try:
            return msgspec.json.decode(text, type=Journal)
        except (msgspec.DecodeError, RecursionError) as error:
            hint = "check the files it lists, then remove this folder"
            raise DiskError(f"the journal in {self._place()} is damaged", hint=hint) from error

    def content(self, name: str) -> bytes:
        """Return the content of a file stored with the journal. Raises OSError."""
        return (self._place() / name).read_bytes()

    def finish(self) -> None:
        """Record that all files are in place and only the cleanup is left to do. Raises OSError."""
        write_durably(self._place() / _DONE, b"")
        sync_path(self._place())

    def is_finished(self) -> bool:
        return (self._place() / _DONE).exists()

    def clear(self) -> None:
        """Remove the journal, then its contents. Raises OSError."""
        place = self._place()
        if (place / _NAME).exists():
            (place / _NAME).unlink()
            sync_path(place)
        shutil.rmtree(place, ignore_errors=True)

    def _place(self) -> Path:
        return self._folder / "current"


def new_journal(
    root: Path, entries: Sequence[JournalEntry], folders: Sequence[str], note: Mapping[str, str]
) -> Journal:
    return Journal(
        id=secrets.token_hex(8),
        root=escape_path(str(root)),
        entries=tuple(entries),
        folders=tuple(folders),
        note=dict(note),
    )


def belongs_to(journal: Journal, root: Path) -> bool:
    """Return True if the journal belongs to this root. `root` must be a resolved path."""
    return journal.root == escape_path(str(root))


def write_durably(path: Path, content: bytes) -> None:
    """Write and sync a new file. Raises FileExistsError if the file exists, and OSError if it
    cannot be written.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def sync_path(folder: Path) -> None:
    """Sync a folder's entries to disk. Raises OSError."""
    with closing_fd(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
        os.fsync(handle)
