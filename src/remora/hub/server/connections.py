"""Open connections of one server, with a maximum and timeouts."""

from typing import Generic, Protocol, TypeVar


class Connection(Protocol):
    """One open connection."""

    last_active: float
    """When anything happened last, in seconds of the loop's clock."""

    @property
    def idle(self) -> bool:
        """True if it waits for nothing."""

    def overdue(self, now: float) -> bool:
        """True if a request or an answer takes too long."""

    def abort(self) -> None:
        """Close now, whatever is not delivered."""

    def close(self) -> None:
        """Close when what was written is delivered."""


_Connection = TypeVar("_Connection", bound=Connection)


class Connections(Generic[_Connection]):
    """At most `most` connections; the idlest makes room for a new one."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: set[_Connection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, guest: _Connection) -> bool:
        """Whether there is room. Anybody who may connect may do so often: nobody is to keep the
        user out by it."""
        if len(self._open) >= self.most:
            idle = [one for one in self._open if one.idle]
            if not idle:
                return False
            oldest = min(idle, key=lambda one: one.last_active)
            oldest.abort()
            self.leave(oldest)
        self._open.add(guest)
        return True

    def leave(self, guest: _Connection) -> None:
        """Forget a closed connection."""
        self._open.discard(guest)

    def reap(self, now: float) -> None:
        """Close connections that are overdue."""
        for guest in [one for one in self._open if one.overdue(now)]:
            guest.abort()

    def close(self) -> None:
        """Close all; answers that were written are still delivered where possible."""
        for guest in list(self._open):
            guest.close()
