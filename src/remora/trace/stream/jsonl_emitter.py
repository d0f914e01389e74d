"""Event emitter that appends JSON lines to a stream in a trace store."""

import logging
import threading
from pathlib import Path
from typing import Self

import msgspec

from remora.errors import (
    DatabaseError,
    DiskError,
    StreamError,
    StreamWriteFailed,
    WriterReplaced,
    undo_on_error,
)
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event, Head, Payload
from remora.trace.content.group_commit import GroupCommit
from remora.trace.content.objects import ObjectStore
from remora.trace.stream.line_builder import (
    Clock,
    Durability,
    Identity,
    build_line,
    head_after,
    line_template,
)
from remora.trace.stream.trace_store import Claim, TraceStore

_log = logging.getLogger("remora.trace")


class EmitterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for writing a stream.

    `blobs` and `objects` are synced before the lines that refer to them.
    """

    blobs: ObjectStore
    objects: ObjectStore | None = None
    durability: Durability = "turn"
    clock: Clock


class JsonlEventEmitter:
    """The only writer of a stream. Use `claim` to create it.

    An event passes through at most three objects before `write(2)`:

    - This class builds the line, orders the events of several threads, and syncs.
    - `TraceStore` rejects a writer that was replaced, and a wrong line number.
    - `LineFile` owns the locked file, and truncates it after a failed write.

    If the store prefers whole turns, events wait in this class until `flush` or `end_turn`. Threads
    that wait for a sync at the same time share one sync.
    """

    def __init__(
        self,
        store: TraceStore,
        stream: str,
        found: Claim,
        identity: Identity,
        options: EmitterOptions,
    ) -> None:
        self.path = Path(stream)
        """The stream's name in the store, as a path."""
        self.deaths = found.deaths
        """Number of earlier writers that died before they released the stream."""
        self._store = store
        self._stream = stream
        self._epoch = found.epoch
        self._head = found.head
        self._template = line_template(identity, options.blobs, options.clock)
        self._contents = tuple(filter(None, (options.blobs, options.objects)))
        self._durability = options.durability
        self._synced = found.head.count
        self._waiting: list[bytes] = []
        self._ended = found.last is not None and found.last.type == AgentEnd.type
        self._refusal: str | None = None
        self._lock = threading.Lock()
        self._commit = GroupCommit(self._sync)

    @classmethod
    def claim(
        cls, store: TraceStore, stream: str, identity: Identity, options: EmitterOptions
    ) -> "JsonlEventEmitter":
        """Claim a stream, and record any torn tails that were recovered, with a warning in the log.

        Raises StreamError if the stream belongs to another run or agent, and whatever `TraceStore`
        raises.
        """
        found = store.claim(stream)
        with undo_on_error(store.release, stream, found.epoch):
            _check_identity(found.last, identity, stream)
            emitter = cls(store, stream, found, identity, options)
            for note in found.recovered:
                moved = "%s: %d bytes that are not a complete line were moved to %s"
                _log.warning(moved, stream, note.bytes, note.quarantine)
                emitter._append(note, found.last.turn if found.last else 0, None)
            emitter.end_turn()
        return emitter

    @property
    def head(self) -> Head:
        return self._head

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Append one event, and return it as it was written or will be written by `flush`.

        Raises StreamWriteFailed if the write fails, and StreamError if the event cannot be encoded
        or the stream accepts no more events.
        """
        with self._lock:
            if self._ended:
                raise StreamError(
                    f"{self.path.name} has ended; no events are allowed after agent_end"
                )
            event = self._append(payload, turn, delta)
        if self._durability == "event":
            self._commit.run()
        return event

    def flush(self) -> None:
        """Append the events that wait for the end of the turn.

        Raises WriterReplaced if the stream has another writer, and StreamWriteFailed if it cannot
        be written. The emitter then accepts no more events.
        """
        if self._waiting:
            self.sync()

    def end_turn(self) -> None:
        """Sync the turn to disk, so that it survives a power failure. If durability is `none`, only
        append the events that wait.
        """
        if self._durability == "none":
            self.flush()
        elif self._synced < self._head.count:
            self.sync()

    def sync(self) -> None:
        """Sync all events to disk, so that they survive a power failure.

        Raises StreamWriteFailed if the sync fails. The emitter then accepts no more events.
        """
        self._commit.run()

    def close(self) -> None:
        """Sync the turn like `end_turn`, and release the stream. Closing an emitter twice has no
        effect.
        """
        try:
            if self._refusal is None:
                self.end_turn()
        finally:
            with self._lock:
                self._refusal = self._refusal or "it is closed"
            self._store.release(self._stream, self._epoch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, payload: Payload, turn: int, delta: PacketDelta | None) -> Event:
        self._check_usable()
        line, event = build_line(self._template, self._head, payload, turn=turn, delta=delta)
        if self._store.appends_turns:
            self._waiting.append(line)
        else:
            self._append_lines(event.seq, line)
        self._head = head_after(event)
        self._ended = event.type == AgentEnd.type
        return event

    def _append_lines(self, seq: int, *lines: bytes) -> None:
        try:
            self._store.append(self._stream, self._epoch, seq, *lines)
        except WriterReplaced as error:
            self._refusal = error.message
            raise

    def _sync(self) -> None:
        with self._lock:
            self._check_usable()
            count, waiting = self._head.count, tuple(self._waiting)
        try:
            for contents in self._contents:
                contents.sync()
            if waiting:
                self._append_lines(count - len(waiting), *waiting)
                with self._lock:
                    del self._waiting[: len(waiting)]
            self._store.sync(self._stream, self._epoch)
        except (DatabaseError, DiskError, StreamError) as error:
            self._refusal = f"a sync failed: {error.message}"
            if isinstance(error, StreamError):
                raise
            message = f"{self.path}: sync failed: {error.message}"
            raise StreamWriteFailed(message, hint=error.hint) from error
        self._synced = count

    def _check_usable(self) -> None:
        if self._refusal is not None:
            raise StreamError(f"{self.path.name} accepts no more events: {self._refusal}")


def _check_identity(last: Event | None, identity: Identity, stream: str) -> None:
    if last is None:
        return
    found = Identity(last.run_id, last.agent_id, last.operation, last.node_id)
    if found != identity:
        raise StreamError(
            f"{stream} belongs to {found.agent_id or found.run_id!r}, not to "
            f"{identity.agent_id or identity.run_id!r}",
            hint="choose another ID",
        )
