"""Common interface of all watchers."""

from typing import Literal, NamedTuple, Protocol

Kind = Literal["inotify", "sweep", "off"]


class Changes(NamedTuple):
    """Paths reported as changed, created or removed since the last call."""

    paths: frozenset[str]
    """Raw paths that end in `.py`. Existence and membership are not checked."""
    complete: bool
    """False if anything else may have changed, too, which only a sweep finds."""


UNKNOWN_CHANGES = Changes(frozenset(), complete=False)


class Watcher(Protocol):
    """Reports changes below one root. For one thread only."""

    @property
    def kind(self) -> Kind:
        """Source of events; `sweep` if there is no source or it failed."""

    @property
    def healthy(self) -> bool:
        """False if, from now on, only a sweep finds changes."""

    @property
    def note(self) -> str:
        """Reason why this watcher is degraded; empty if it is not."""

    def drain(self) -> Changes:
        """Return all changes reported so far (with inotify: all completed changes). Never waits."""

    def settled(self, timeout: float) -> bool:
        """Make a change and wait for its report.

        If this returns True, the next `drain` contains all earlier changes.
        """

    def fileno(self) -> int | None:
        """Descriptor that is readable when there is something to drain; constant until `close`."""

    def close(self) -> None:
        """Stop watching. May be called twice."""
