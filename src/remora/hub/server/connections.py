"""Everybody who is connected in one way, so that nobody has to wait for the slow and the broken."""

from typing import Generic, Protocol, TypeVar


class Connection(Protocol):
    """One connection, as far as the others are concerned."""

    last_active: float
    """When anything happened last, in seconds of the loop's clock."""

    @property
    def idle(self) -> bool:
        """Whether it waits for nothing."""

    def overdue(self, now: float) -> bool:
        """Whether it has been in the middle of something for too long."""

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
        """It is closed."""
        self._open.discard(guest)

    def reap(self, now: float) -> None:
        """Close those that have been in the middle of something for too long."""
        for guest in [one for one in self._open if one.overdue(now)]:
            guest.abort()

    def close(self) -> None:
        """Close all; what was answered already is still delivered where it can be."""
        for guest in list(self._open):
            guest.close()
