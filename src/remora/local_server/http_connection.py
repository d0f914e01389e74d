"""An HTTP connection of uvicorn, with limits on what a slow or silent client costs."""

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_CONNECTIONS = 256
PATIENCE_S = 30
"""Seconds that a connection may be idle, a request may take to arrive, or an answer stay unread."""
_DISCARD_S = 0.5
"""Seconds in which the rest of a request is discarded after its answer.

A client may not read the answer until it has sent everything.
"""


class HttpConnection(H11Protocol):
    """A connection that is closed after `PATIENCE_S`, or sooner if others need its place.

    uvicorn itself waits forever for the rest of a request and for a client that does not read, and
    answers 503 when there are too many connections, so that silent clients block all others.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._has_ended = False
        self._is_receiving = False
        self.last_active = self.loop.time()
        """When a request began, an answer ended, or its client began or stopped to read."""

    @property
    def has_no_request(self) -> bool:
        """True if no request has been received completely."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    @property
    def is_stuck(self) -> bool:
        """True if the client has to send the rest of a request, or to read an answer."""
        return self.conn.their_state is h11.SEND_BODY or self.flow.write_paused

    def is_overdue(self, now: float) -> bool:
        waits = self.has_no_request or self.is_stuck or self.transport.is_closing()
        return waits and now - self.last_active > PATIENCE_S

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection. If there are too many, it replaces the one idle longest."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            oldest = min(
                (each for each in http_connections(self.connections) if each.has_no_request),
                key=lambda each: each.last_active,
            )  # this connection itself, if no other one is idle
            self.connections.discard(oldest)
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request. More parts do not give it more time."""
        if not self._is_receiving:
            self.last_active = self.loop.time()
        super().data_received(data)
        self._is_receiving = self.has_no_request

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a request that has been received completely, and then close the connection."""
        self._has_ended = True
        return self._is_unanswered()

    def on_response_complete(self) -> None:
        self.last_active = self.loop.time()
        super().on_response_complete()
        if self._has_ended and not self._is_unanswered():
            self.transport.close()
        elif self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(_DISCARD_S, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP unless an answer was sent already, and end the request."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        self.transport.close()
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()

    def pause_writing(self) -> None:
        self.last_active = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.last_active = self.loop.time()
        super().resume_writing()

    def _is_unanswered(self) -> bool:
        return not self.has_no_request and self.conn.our_state is h11.SEND_RESPONSE


def http_connections(connections: Iterable[object]) -> list[HttpConnection]:
    """Return connections with the type that this package gives them."""
    return [each for each in connections if isinstance(each, HttpConnection)]
