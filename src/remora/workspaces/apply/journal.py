"""The journal of one change set on its way into the user's tree; it lies in the state folder."""

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
from remora.ids import spell_path

_NAME = "journal.json"
_DONE = "done"


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file: SHA-256 before and after (None: absent), its mode, and its name while in waiting.

    `path` is spelled as in a node key; `number` names its contents in the journal, `N.new` and
    `N.old`.
    """

    number: int
    path: str
    ours: str | None
    result: str | None
    mode: int


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of which files of which (spelled) root. `note` is the caller's own.

    `folders` are spelled paths of folders that were missing before.
    """

    v: int = 1
    id: str
    root: str
    entries: tuple[JournalEntry, ...]
    folders: tuple[str, ...] = ()
    note: dict[str, str] = {}

    def waiting_name(self, entry: JournalEntry) -> bytes:
        """The name in the file's own folder under which new and old text wait."""
        return f".remora-{self.id}-{entry.number}".encode()


class JournalFolder:
    """One root's folder for at most one journal, held by one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder. Raises Conflict if another process does, DiskError if it cannot be."""
        try:
            make_private(self._folder)
            path = self._folder / "lock"
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DiskError(f"cannot keep a journal in {self._folder}: {error.strerror}") from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                hint = "wait until the other command has ended, then repeat this one"
                raise Conflict("another command changes this tree now", hint=hint) from error
            yield
        finally:
            os.close(lock)

    def write(self, journal: Journal, contents: Mapping[str, bytes]) -> None:
        """Store contents (by file name), then the journal, each durably. Raises OSError."""
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
        """The journal that is left, None if none is. Raises DiskError for a damaged one."""
        try:
            text = (self._place() / _NAME).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DiskError(f"cannot read the journal in {self._folder}: {error}") from error
        try:
            return msgspec.json.decode(text, type=Journal)
        except msgspec.DecodeError as error:
            hint = "look at the files it names, then remove that folder"
            raise DiskError(f"the journal in {self._place()} is damaged", hint=hint) from error

    def content(self, name: str) -> bytes:
        """A content stored with the journal. Raises OSError."""
        return (self._place() / name).read_bytes()

    def finish(self) -> None:
        """From here on every file is in place and only cleaning is left. Raises OSError."""
        write_durably(self._place() / _DONE, b"")
        sync_path(self._place())

    def is_finished(self) -> bool:
        """Whether `finish` was reached."""
        return (self._place() / _DONE).exists()

    def clear(self) -> None:
        """Remove journal and contents, the journal first. Raises OSError."""
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
    """A journal with an id of its own."""
    return Journal(
        id=secrets.token_hex(8),
        root=spell_path(str(root)),
        entries=tuple(entries),
        folders=tuple(folders),
        note=dict(note),
    )


def belongs_to(journal: Journal, root: Path) -> bool:
    """Whether a journal speaks of this (resolved) root."""
    return journal.root == spell_path(str(root))


def write_durably(path: Path, content: bytes) -> None:
    """A new file with its content. Raises OSError, FileExistsError where the name is taken."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def sync_path(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
