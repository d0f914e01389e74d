"""The only writer of a stream: one locked file, one `write(2)` for each event."""

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from remora.errors import DiskError, StreamError, StreamWriteFailed
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event, Head, Payload
from remora.trace import lock
from remora.trace.chain import Chain, Clock, Durability, Identity, utc_now
from remora.trace.objects import ObjectStore
from remora.trace.private import open_file, open_folder, sync_data, told
from remora.trace.recover import Contents, quarantine, survey

_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT


class StreamWriter:
    """Appends events to one stream. Made by `open`; not for several threads at once."""

    def __init__(self, path: Path, file: int, chain: Chain, contents: Contents) -> None:
        self.path = path
        self._name = os.fspath(path)  # asked before each write: pathlib would cost more than that
        self._file = file
        self._chain = chain
        self._size = contents.size
        self._ended = contents.last is not None and contents.last.type == AgentEnd.type
        self._refusal: str | None = None
        self._unsynced = False
        self._durability: Durability = "turn"
        self._stores: tuple[ObjectStore, ...] = ()
        status = os.fstat(file)
        self._inode = (status.st_dev, status.st_ino)

    @classmethod
    def open(
        cls,
        path: Path,
        identity: Identity,
        *,
        blobs: ObjectStore,
        objects: ObjectStore | None = None,
        durability: Durability = "turn",
        clock: Clock = utc_now,
    ) -> Self:
        """Open or create the stream and lock it; the folder must be there.

        A torn tail is moved beside the stream and a `recovered` event says so. What was put into
        `blobs` and `objects` is synced before the lines that name it.
        Raises StreamLocked, StreamDamaged (a bad line that is no torn tail), StreamError (the
        stream is another's), StreamWriteFailed or DiskError.
        """
        path = path.absolute()
        with ExitStack() as stack:
            with told(path):
                folder = open_folder(path.parent)
                stack.callback(os.close, folder)
                file = open_file(path.name, _OPEN, folder=folder)
            on_failure = stack.enter_context(ExitStack())
            on_failure.callback(os.close, file)
            lock.take(file, path)
            with told(path):
                contents = survey(file, path)
                if not contents.size and durability != "none":
                    os.fsync(folder)
            _check_identity(contents, identity, path)
            chain = Chain(identity, blobs, clock, contents.head)
            writer = cls(path, file, chain, contents)
            writer._durability = durability
            writer._stores = (blobs,) if objects is None else (blobs, objects)
            if contents.torn:
                writer._recover(contents, folder)
            on_failure.pop_all()
        return writer

    @property
    def head(self) -> Head:
        """Number of lines, and the hash of the last one."""
        return self._chain.head

    def append(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Write one event; what is returned is what a reader will get.

        Raises StreamWriteFailed (the stream ends where it ended before) or StreamError: the event
        cannot be recorded, the stream has ended, or its file was replaced or changed.
        """
        if self._ended:
            raise StreamError(f"{self.path.name} ended; nothing may follow its agent_end")
        return self._append(payload, turn, delta)

    def end_turn(self) -> None:
        """Make the turn safe against a power cut, unless durability is `none`."""
        if self._unsynced and self._durability != "none":
            self.sync()

    def sync(self) -> None:
        """Make everything safe against a power cut. Raises StreamWriteFailed, and then the writer
        takes no more: after a failed sync only reopening and verifying tells what is on disk."""
        self._check_usable()
        try:
            for store in self._stores:
                store.sync()
            sync_data(self._file)
        except (OSError, DiskError) as error:
            raise self._refuse(f"sync failed: {error}") from error
        self._unsynced = False

    def close(self) -> None:
        """Sync as `end_turn` does and release the lock; closing twice is fine."""
        if self._file < 0:
            return
        try:
            if self._refusal is None:
                self.end_turn()
        finally:
            os.close(self._file)
            self._file = -1
            self._refusal = self._refusal or "it is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, payload: Payload, turn: int, delta: PacketDelta | None) -> Event:
        self._check_usable()
        line, event = self._chain.next(payload, turn=turn, delta=delta)
        self._check_file()
        self._write(line)
        self._chain.advance(event)
        self._ended = event.type == AgentEnd.type
        self._unsynced = True
        if self._durability == "event":
            self.sync()
        return event

    def _recover(self, contents: Contents, folder: int) -> None:
        try:
            note = quarantine(self._file, contents, name=self.path.name, folder=folder)
        except OSError as error:
            raise self._refuse(f"its torn tail cannot be moved away: {error.strerror}") from error
        self._append(note, contents.last.turn if contents.last else 0, None)
        self.end_turn()

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._file, line)
            reason = "the disk is full"
        except OSError as error:
            written, reason = 0, error.strerror or str(error)
        if written == len(line):
            self._size += written
            return
        try:
            os.ftruncate(self._file, self._size)
        except OSError as error:
            raise self._refuse(f"{reason}; cutting back failed too: {error.strerror}") from error
        raise StreamWriteFailed(
            f"{self.path}: {reason}", hint="free some space; the stream is as it was before"
        )

    def _check_usable(self) -> None:
        if self._refusal is not None:
            raise StreamError(f"{self.path.name} takes no more events: {self._refusal}")

    def _check_file(self) -> None:
        status = None
        with suppress(OSError):
            status = os.lstat(self._name)
        if status is None or (status.st_dev, status.st_ino) != self._inode:
            raise self._refuse("its file was moved or replaced", StreamError)
        if status.st_size != self._size:
            raise self._refuse("someone else changed its file", StreamError)

    def _refuse(self, why: str, kind: type[StreamError] = StreamWriteFailed) -> StreamError:
        self._refusal = why
        return kind(f"{self.path}: {why}", hint="`remora trace verify` tells what is on disk")


def _check_identity(contents: Contents, identity: Identity, path: Path) -> None:
    last = contents.last
    if last is None:
        return
    found = Identity(last.run_id, last.agent_id, last.operation, last.node_id)
    if found != identity:
        raise StreamError(
            f"{path.name} belongs to {found.agent_id or found.run_id!r} and not to "
            f"{identity.agent_id or identity.run_id!r}",
            hint="choose another id",
        )
