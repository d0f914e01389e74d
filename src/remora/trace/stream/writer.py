"""The only writer of a stream: each payload becomes the next line, and that goes to a store."""

import threading
from pathlib import Path
from typing import Self

import msgspec

from remora.errors import DiskError, StreamError, StreamWriteFailed, WriterReplaced
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event, Head, Payload
from remora.trace.content.group_commit import GroupCommit
from remora.trace.content.objects import ObjectStore
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.stream.line_builder import Chain, Clock, Durability, Identity, utc_now
from remora.trace.stream.trace_store import Claim, TraceStore
from remora.trace.trace_folder import SUFFIX


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """How a stream is written. What was put into `blobs` and `objects` is synced before the lines
    that name it."""

    blobs: ObjectStore
    objects: ObjectStore | None = None
    durability: Durability = "turn"
    clock: Clock = utc_now


class StreamWriter:
    """Appends events to one stream of a store; made by `open` or `claim`.

    Several threads may use one: events are appended one after another, and who waits for a sync
    shares it with all whose events were there when it began.
    """

    def __init__(
        self, store: TraceStore, stream: str, found: Claim, identity: Identity, how: Recording
    ) -> None:
        self.path = Path(stream)
        """The stream's file; its name in a store that keeps no files."""
        self._store = store
        self._stream = stream
        self._epoch = found.epoch
        self._chain = Chain(identity, how.blobs, how.clock, found.head)
        self._contents = (how.blobs,) if how.objects is None else (how.blobs, how.objects)
        self._durability = how.durability
        self._synced = found.head.count
        self._ended = found.last is not None and found.last.type == AgentEnd.type
        self._refusal: str | None = None
        self._lock = threading.Lock()
        self._commit = GroupCommit(self._sync)

    @classmethod
    def claim(
        cls, store: TraceStore, stream: str, identity: Identity, how: Recording
    ) -> "StreamWriter":
        """Become the stream's writer. Of a torn tail that was moved aside a `recovered` event tells.

        Raises as `TraceStore.claim` and `append` do, and StreamError for another's stream.
        """
        found = store.claim(stream)
        try:
            _check_identity(found.last, identity, stream)
            writer = cls(store, stream, found, identity, how)
            for note in found.recovered:
                writer._append(note, found.last.turn if found.last else 0, None)
            writer.end_turn()
        except BaseException:
            store.release(stream, found.epoch)
            raise
        return writer

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
    ) -> "StreamWriter":
        """As `claim`, of the file at `path`; its folder must be there.

        Raises StreamLocked, StreamDamaged (a bad line that is no torn tail), StreamError (the
        stream is another's), StreamWriteFailed or DiskError.
        """
        store = JsonlTraceStore(path.parent)
        how = Recording(blobs=blobs, objects=objects, durability=durability, clock=clock)
        writer = cls.claim(store, path.name.removesuffix(SUFFIX), identity, how)
        writer.path = path.absolute()
        return writer

    @property
    def head(self) -> Head:
        """Number of lines, and the hash of the last one."""
        return self._chain.head

    def append(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Write one event; what is returned is what a reader will get.

        Raises StreamWriteFailed (the stream ends where it ended before) or StreamError: the event
        cannot be recorded, the stream has ended, or (WriterReplaced) somebody else changed it.
        """
        with self._lock:
            if self._ended:
                raise StreamError(f"{self.path.name} ended; nothing may follow its agent_end")
            event = self._append(payload, turn, delta)
        if self._durability == "event":
            self._commit.run()
        return event

    def end_turn(self) -> None:
        """Make the turn safe against a power cut, unless durability is `none`."""
        if self._durability != "none" and self._synced < self._chain.head.count:
            self.sync()

    def sync(self) -> None:
        """Make everything so far safe against a power cut. Raises StreamWriteFailed, and then the
        writer takes no more: after a failed sync only reopening tells what is on disk."""
        self._commit.run()

    def close(self) -> None:
        """Sync as `end_turn` does and give the stream back; closing twice is fine."""
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
        line, event = self._chain.next(payload, turn=turn, delta=delta)
        try:
            self._store.append(self._stream, self._epoch, event.seq, line)
        except WriterReplaced as error:
            self._refusal = error.message
            raise
        self._chain.advance(event)
        self._ended = event.type == AgentEnd.type
        return event

    def _sync(self) -> None:
        with self._lock:
            self._check_usable()
            count = self._chain.head.count
        try:
            for contents in self._contents:
                contents.sync()
            self._store.sync(self._stream, self._epoch)
        except (DiskError, StreamError) as error:
            self._refusal = f"a sync failed: {error.message}"
            if isinstance(error, StreamError):
                raise
            message = f"{self.path}: sync failed: {error.message}"
            raise StreamWriteFailed(message, hint=error.hint) from error
        self._synced = count

    def _check_usable(self) -> None:
        if self._refusal is not None:
            raise StreamError(f"{self.path.name} takes no more events: {self._refusal}")


def _check_identity(last: Event | None, identity: Identity, stream: str) -> None:
    if last is None:
        return
    found = Identity(last.run_id, last.agent_id, last.operation, last.node_id)
    if found != identity:
        raise StreamError(
            f"{stream} belongs to {found.agent_id or found.run_id!r} and not to "
            f"{identity.agent_id or identity.run_id!r}",
            hint="choose another id",
        )
