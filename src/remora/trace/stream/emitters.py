"""Event emitter protocol, and the emitters that do not write files themselves."""

from typing import Protocol

from remora.errors import StreamError
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event, Head, Payload
from remora.trace.read.blobs import NullBlobSink
from remora.trace.stream.line_builder import (
    Clock,
    Identity,
    build_line,
    head_after,
    line_template,
    utc_now,
)


class EventEmitter(Protocol):
    """Records payloads in order, and returns each event exactly as it was written."""

    @property
    def head(self) -> Head:
        """The number of events so far, and the hash of the last event."""

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Record one event, and return it as it was written.

        Callers must use only the returned event, not the payload.
        """

    def flush(self) -> None:
        """Make the events so far survive if this process is killed. May block on the network."""

    def end_turn(self) -> None:
        """End a turn, and make its events as durable as the emitter guarantees. May block on disk
        writes.
        """

    def close(self) -> None:
        """Release the stream. Closing an emitter twice has no effect."""


class NullEventEmitter:
    """Emitter that writes nothing, but creates the same events and hashes as a recorded stream."""

    def __init__(self, identity: Identity, clock: Clock = utc_now) -> None:
        self._template = line_template(identity, NullBlobSink(), clock)
        self._head = Head()
        self._ended = False

    @property
    def head(self) -> Head:
        return self._head

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Create an event and return it. Raises StreamError if `agent_end` was already emitted."""
        if self._ended:
            agent_id = self._template.identity.agent_id
            raise StreamError(f"{agent_id} has ended; no events are allowed after agent_end")
        _, event = build_line(self._template, self._head, payload, turn=turn, delta=delta)
        self._head = head_after(event)
        self._ended = event.type == AgentEnd.type
        return event

    def flush(self) -> None:
        """Do nothing, because there is nothing to write."""

    def end_turn(self) -> None:
        """Do nothing, because there is nothing to sync."""

    def close(self) -> None:
        """Do nothing, because there is nothing to release."""
