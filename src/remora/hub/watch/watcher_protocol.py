"""Interface of all watchers."""

from typing import Literal, NamedTuple, Protocol

Kind = Literal["inotify", "sweep", "off"]


class Changes(NamedTuple):
    """Paths that changed, came or went since the last call, as far as reported."""

    paths: frozenset[str]
    """Raw paths with a Python name; existence and membership are unchecked."""
    complete: bool
    """False: something else changed too, perhaps anything. Only a sweep finds it."""


UNKNOWN_CHANGES = Changes(frozenset(), complete=False)


class Watcher(Protocol):
    """Reports changes beneath one root. Used by one thread."""

    @property
    def kind(self) -> Kind:
        """Source of events: `sweep` if there is none or it failed."""

    @property
    def healthy(self) -> bool:
        """False: only a sweep finds changes, for the rest of this watcher's life."""

    @property
    def note(self) -> str:
        """Why this watcher is degraded; empty if it is not."""

    def drain(self) -> Changes:
        """Return all changes reported so far (by inotify: all that have ended), without waiting."""

    def settled(self, timeout: float) -> bool:
        """True if earlier changes are in the next `drain`, proven by a change of our own."""

    def fileno(self) -> int | None:
        """Descriptor that is readable when there is something to drain; constant until `close`."""

    def close(self) -> None:
        """Stop watching. May be called twice."""
