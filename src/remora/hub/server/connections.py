"""Open connections of a server. Their number is limited, and they time out."""

from typing import Generic, Protocol, TypeVar

WRITE_LIMIT = 1 << 20
"""Bytes of unread output above which a client's requests wait and a subscriber is dropped."""
PATIENCE_S = 30.0
"""Seconds that a request may stay unfinished, or an answer unread."""
QUIET_S = 0.5
"""Seconds of silence before a connection that sent too much is closed."""


class Connection(Protocol):
    last_active: float
    """Event loop time of the last activity, in seconds."""

    @property
    def idle(self) -> bool:
        """True if there is no unfinished request and no pending answer."""

    def overdue(self, now: float) -> bool:
        """Return True if a request or an answer is taking too long."""

    def abort(self) -> None:
        """Close the connection immediately and discard pending output."""

    def close(self) -> None:
        """Close the connection once pending output has been delivered."""


_Connection = TypeVar("_Connection", bound=Connection)


class Connections(Generic[_Connection]):
    """At most `most` open connections.

    If the limit is reached, a new connection replaces the connection that has been idle longest, so
    that idle clients cannot block new clients.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: set[_Connection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, guest: _Connection) -> bool:
        """Add a connection. Return False if there is no idle connection to replace."""
        if len(self._open) >= self.most:
            if not (idle := [each for each in self._open if each.idle]):
                return False
            oldest = min(idle, key=lambda each: each.last_active)
            oldest.abort()
            self.leave(oldest)
        self._open.add(guest)
        return True

    def leave(self, guest: _Connection) -> None:
        self._open.discard(guest)

    def reap(self, now: float) -> None:
        for guest in [each for each in self._open if each.overdue(now)]:
            guest.abort()

    def close(self) -> None:
        """Close all connections. Pending output is still delivered if possible."""
        for guest in list(self._open):
            guest.close()
