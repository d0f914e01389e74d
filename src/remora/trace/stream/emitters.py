"""Where a runner's events go: a stream's file, nowhere, or a stream and its listeners."""

from collections.abc import Callable
from typing import Protocol

from remora.errors import StreamError
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event, Head, Payload
from remora.trace.blobs import NoBlobs
from remora.trace.stream.line_builder import Chain, Clock, Identity, utc_now
from remora.trace.stream.writer import StreamWriter

Listener = Callable[[Event], object]


class EventEmitter(Protocol):
    """Takes payloads in order and gives back each event as it was written."""

    @property
    def head(self) -> Head:
        """Number of events so far, and the hash of the last one."""

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Record one event. Only what this returns may be applied or acted upon."""

    def end_turn(self) -> None:
        """A turn is over: make it as safe as the emitter promises.

        This waits for the disk. It may be called in a thread, so that an event loop need not.
        """

    def close(self) -> None:
        """No more events come; closing twice is fine."""


class JsonlEventEmitter:
    """Emits into a stream's file; raises as StreamWriter does."""

    def __init__(self, writer: StreamWriter) -> None:
        self._writer = writer

    @property
    def head(self) -> Head:
        """Number of lines, and the hash of the last one."""
        return self._writer.head

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Append one event to the file."""
        return self._writer.append(payload, turn=turn, delta=delta)

    def end_turn(self) -> None:
        """Sync as the writer's durability says."""
        self._writer.end_turn()

    def close(self) -> None:
        """Sync and release the stream."""
        self._writer.close()


class NullEventEmitter:
    """Makes the same events with the same hashes, and writes nothing."""

    def __init__(self, identity: Identity, clock: Clock = utc_now) -> None:
        self._chain = Chain(identity, NoBlobs(), clock)
        self._ended = False

    @property
    def head(self) -> Head:
        """Number of events so far, and the hash of the last one."""
        return self._chain.head

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Make one event. Raises StreamError after `agent_end`, as a stream does."""
        if self._ended:
            raise StreamError(f"{self._chain.identity.agent_id} ended; nothing may follow")
        _, event = self._chain.next(payload, turn=turn, delta=delta)
        self._chain.advance(event)
        self._ended = event.type == AgentEnd.type
        return event

    def end_turn(self) -> None:
        """There is nothing to sync."""

    def close(self) -> None:
        """There is nothing to release."""


class TeeEmitter:
    """Emits into `primary`, then shows each event, as written, to every listener.

    An error of a listener is raised after the event is in the stream.
    """

    def __init__(self, primary: EventEmitter, *listeners: Listener) -> None:
        self._primary = primary
        self._listeners = listeners

    @property
    def head(self) -> Head:
        """The primary's head."""
        return self._primary.head

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Record one event and show it around."""
        event = self._primary.emit(payload, turn=turn, delta=delta)
        for listener in self._listeners:
            listener(event)
        return event

    def end_turn(self) -> None:
        """The primary's."""
        self._primary.end_turn()

    def close(self) -> None:
        """Close the primary."""
        self._primary.close()
