"""Open connections of one server, with a maximum number and timeouts."""

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
        """True if no request is unfinished and no answer is pending."""

    def overdue(self, now: float) -> bool:
        """True if a request or an answer takes too long."""

    def abort(self) -> None:
        """Close immediately, dropping undelivered output."""

    def close(self) -> None:
        """Close after pending output is delivered."""


_Connection = TypeVar("_Connection", bound=Connection)


class Connections(Generic[_Connection]):
    """Up to `most` connections. If full, a new connection replaces the longest idle connection."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: set[_Connection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, guest: _Connection) -> bool:
        """Add a connection. Return False if none can be replaced. Idle clients cannot lock users
        out."""
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
        """Close all connections, delivering written answers where possible."""
        for guest in list(self._open):
            guest.close()
