"""Event emitter protocol, and emitters that write no file: null and tee."""

from collections.abc import Callable
from typing import Protocol

from remora.errors import StreamError
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event, Head, Payload
from remora.trace.blobs import NullBlobSink
from remora.trace.stream.line_builder import (
    Clock,
    Identity,
    build_line,
    head_after,
    line_template,
    utc_now,
)

Listener = Callable[[Event], object]


class EventEmitter(Protocol):
    """Records payloads in order and returns each event as it was written."""

    @property
    def head(self) -> Head:
        """Number of events so far, and the hash of the last event."""

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Record one event. Callers must use only the returned event, which is what was written."""

    def end_turn(self) -> None:
        """End a turn: make its events as durable as the emitter guarantees. May wait for the
        disk."""

    def close(self) -> None:
        """Release the stream. Closing it twice has no effect."""


class NullEventEmitter:
    """Creates the same events, with the same hashes, as a stream would contain, but writes
    nothing."""

    def __init__(self, identity: Identity, clock: Clock = utc_now) -> None:
        self._template = line_template(identity, NullBlobSink(), clock)
        self._head = Head()
        self._ended = False

    @property
    def head(self) -> Head:
        return self._head

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        """Create one event. Raises StreamError after `agent_end`."""
        if self._ended:
            agent_id = self._template.identity.agent_id
            raise StreamError(f"{agent_id} has ended; no events are allowed after agent_end")
        _, event = build_line(self._template, self._head, payload, turn=turn, delta=delta)
        self._head = head_after(event)
        self._ended = event.type == AgentEnd.type
        return event

    def end_turn(self) -> None:
        """Do nothing: there is nothing to sync."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class TeeEmitter:
    """Emits into `primary`, then passes each event to all listeners.

    An exception from a listener is raised after the event was recorded.
    """

    def __init__(self, primary: EventEmitter, *listeners: Listener) -> None:
        self._primary = primary
        self._listeners = listeners

    @property
    def head(self) -> Head:
        return self._primary.head

    def emit(self, payload: Payload, *, turn: int, delta: PacketDelta | None = None) -> Event:
        event = self._primary.emit(payload, turn=turn, delta=delta)
        for listener in self._listeners:
            listener(event)
        return event

    def end_turn(self) -> None:
        self._primary.end_turn()

    def close(self) -> None:
        self._primary.close()
